// The report: JSON lines, one record each, written to a descriptor.
//
// A line is built in a fixed buffer, without locale, allocation or stdio, so that
// a signal handler can write one, too. Long text is cut. docs/host.md documents
// every record and key.
#pragma once

#include <cstddef>
#include <cstdint>

namespace grader {

class ReportLine {
public:
    explicit ReportLine(const char* record);  // {"record":"…"

    ReportLine& text(const char* key, const char* value);
    ReportLine& number(const char* key, uint64_t value);
    ReportLine& signed_number(const char* key, int64_t value);
    ReportLine& truth(const char* key, bool value);
    ReportLine& triple(const char* key, unsigned x, unsigned y, unsigned z);
    void write();  // closes the object and writes the line, if a report is open

private:
    void put(char c);
    void put(const char* plain);
    void put_number(uint64_t value);
    void key(const char* name);

    char buffer_[4096];
    size_t length_ = 0;
};

namespace report {
void open(int fd);
bool is_open();
}  // namespace report

// Program counters are reported as offsets in the shared object.
uint64_t program_offset(uintptr_t pc);

}  // namespace grader
