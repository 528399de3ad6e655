/* What a command found: lines of text, or one JSON object. */
#ifndef MX_REPORT_H
#define MX_REPORT_H

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

inline std::string format(const char *text, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, text);
    std::vsnprintf(line, sizeof line, text, arguments);
    va_end(arguments);
    return line;
}

/* Text as a JSON string. */
inline std::string quoted(const std::string &text)
{
    std::string out = "\"";
    for (const char c : text)
        if (c == '"' || c == '\\')
            out += std::string("\\") + c;
        else
            out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return out + "\"";
}

struct Report {
    std::vector<std::string> rows; /* JSON objects */
    uint64_t cases = 0, failed = 0;
    bool broken = false, json = false;

    void add(const std::string &row, const std::string &line, uint64_t count, uint64_t wrong)
    {
        rows.push_back(row);
        cases += count;
        failed += wrong;
        if (!json) {
            std::puts(line.c_str());
            std::fflush(stdout);
        }
    }
    /* Prints the end; the exit status. Nothing compared is a failure. */
    int finish(const std::string &head, const char *what = "cases") const
    {
        const bool pass = !broken && failed == 0 && cases > 0;
        const auto counts = [&](const char *text) {
            return format(text, static_cast<unsigned long long>(cases),
                          static_cast<unsigned long long>(failed));
        };
        if (json) {
            std::printf("{%s, %s, \"pass\": %s, \"rows\": [", head.c_str(),
                        counts("\"cases\": %llu, \"failed\": %llu").c_str(),
                        pass ? "true" : "false");
            for (size_t i = 0; i < rows.size(); ++i)
                std::printf("%s\n%s", i ? "," : "", rows[i].c_str());
            std::puts("]}");
        } else {
            std::printf("%s %s%s\n", pass ? "PASS" : "FAIL",
                        counts(("%llu " + std::string(what) + ", %llu failed").c_str()).c_str(),
                        cases ? "" : ": nothing was compared");
        }
        return pass ? 0 : 1;
    }
};

#endif
