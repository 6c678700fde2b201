// Fatal signals: says in one record what happened, then lets the signal kill.
#pragma once

namespace grader::fault {
void install();
}
