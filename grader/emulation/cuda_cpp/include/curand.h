// Only a GPU can run the library: an unused include is allowed, and a use is reported.
#pragma once
