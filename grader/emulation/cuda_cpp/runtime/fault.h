// Fatal signals: writes a record, then lets the signal kill the process.
#pragma once

namespace grader::fault {
void install();
}
