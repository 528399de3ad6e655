/* Every file of vectors/plain that an operation exists for, compared bit by bit. */
#ifndef MX_VECTORS_H
#define MX_VECTORS_H

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "operations.h"
#include "report.h"

namespace vectors {

/* The policies of a file's columns: vectors/README.md, "Files". */
inline std::vector<Policy> columns(const std::string &op, const std::string &format)
{
    std::vector<Policy> all{Policy::parse("ocp")};
    if (op == "encode" && (format == "e5m2" || format == "e4m3"))
        all.push_back(Policy::parse("ocp+overflow=nonsaturating"));
    if (op == "encode_scale") {
        all.push_back(Policy::parse("ocp+scale_rounding=toward_positive"));
        all.push_back(Policy::parse("ocp+scale_rounding=ties_to_away"));
    }
    return all;
}

/* How many words of a line are input. */
inline size_t inputs(const std::string &op, const std::string &format, const Words &line)
{
    const bool is_nvfp4 = format == "nvfp4" || format == "fp4_ue4m3";
    const size_t total = line.size(), block = is_nvfp4 ? 16 : mx::BLOCK;
    const size_t tensor = format == "nvfp4" ? 1 : 0; /* its scale */
    if (op == "quantize")
        return tensor + block;
    if (op == "dequantize" || op == "pack_blocks")
        return tensor + block + 1;
    if (op == "unpack_blocks")
        return total - block - 1;
    if (op == "unpack")
        return total - line[0];
    if (op == "pack_scales" || op == "unpack_scales")
        return op[0] == 'p' ? 2 + line[0] * line[1] : total - line[0] * line[1];
    if (op == "quantize_tensor")
        return 3 + line[0] * line[1];
    if (op == "pack") {
        size_t count = 0;
        with_format(format, [&](auto f) {
            while (count + mx::packed_size(decltype(f)::bits, count) < total)
                ++count;
        });
        return count;
    }
    return op == "encode_stochastic" ? 3 : 1;
}

/* Whether an operation is one of numbers, blocks or their bytes: the fast path has no products and
 * no integers. */
inline bool is_known(const std::string &op)
{
    for (const char *known : {"encode", "encode_stochastic",
                              "decode", "encode_scale", "decode_scale", "shared_scale",
                              "quantize", "dequantize", "pack", "unpack", "pack_scales",
                              "unpack_scales", "pack_blocks", "unpack_blocks", "quantize_tensor"})
        if (op == known)
            return true;
    return false;
}

/* Whether all cases of an operation have as many words, and so can be computed at once. */
inline bool is_even(const std::string &op)
{
    return op.find("pack") == std::string::npos && op != "quantize_tensor";
}

inline bool is_nan(uint32_t word, const std::string &op, const std::string &format,
                   const std::string &type)
{
    if (op == "encode" || op == "encode_stochastic")
        return format == "e4m3" ? (word & 0x7f) == 0x7f : format == "e5m2" && (word & 0x7f) > 0x7c;
    if (op == "decode" || op == "decode_scale" || op == "dequantize")
        return type == "bf16"  ? (word & 0x7fff) > 0x7f80
               : type == "f16" ? (word & 0x7fff) > 0x7c00
                               : (word & 0x7fffffff) > mx::INFINITE;
    return false;
}

inline std::string shown(const Words &words, size_t first, size_t last)
{
    std::string text;
    for (size_t i = first; i < last && i < words.size(); ++i)
        text += format(i == first ? "%02x" : " %02x", words[i]);
    return text;
}

struct File {
    std::string op, format, type, name;
    std::vector<Words> lines;
};

inline File read(const std::filesystem::path &path)
{
    File file;
    file.op = path.parent_path().filename().string();
    const std::string stem = path.stem().string();
    const size_t dot = stem.find('.');
    if (dot == std::string::npos)
        throw std::runtime_error("its name is not FORMAT.TYPE.txt");
    file.format = stem.substr(0, dot);
    file.type = stem.substr(dot + 1);
    file.name = file.op + "/" + stem;
    std::ifstream stream(path);
    for (std::string line; std::getline(stream, line);) {
        Words words;
        const char *at = line.c_str();
        for (char *end = nullptr; *at; at = *end == ' ' ? end + 1 : end) {
            words.push_back(static_cast<uint32_t>(std::strtoul(at, &end, 16)));
            if (end == at || (*end && *end != ' '))
                throw std::runtime_error("not hex: " + line.substr(0, 40));
        }
        file.lines.push_back(std::move(words));
    }
    if (stream.bad() || !stream.eof())
        throw std::runtime_error("it cannot be read");
    if (file.lines.empty())
        throw std::runtime_error("it has no cases");
    return file;
}

/* The plain files of a folder and their numbers of cases, by the manifest of the vectors, which
 * lies in the folder or at most two above it. */
inline std::map<std::filesystem::path, size_t> listed(const std::filesystem::path &folder)
{
    std::filesystem::path root = folder;
    for (int above = 0; above < 2 && !std::filesystem::exists(root / "manifest.json"); ++above)
        root = root.parent_path();
    std::ifstream stream(root / "manifest.json");
    std::stringstream read;
    read << stream.rdbuf();
    const std::string text = read.str(), file = "\"file\": \"", cases = "\"cases\": ";
    std::map<std::filesystem::path, size_t> found;
    for (size_t at = text.find(file); at != std::string::npos; at = text.find(file, at)) {
        at += file.size();
        const std::filesystem::path path = root / text.substr(at, text.find('"', at) - at);
        const size_t count = text.find(cases, at);
        const auto inside = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
        if (path.extension() == ".txt" && inside.first == folder.end()
            && count != std::string::npos)
            found[path] = std::strtoull(text.c_str() + count + cases.size(), nullptr, 10);
    }
    if (found.empty())
        throw std::runtime_error("no manifest.json in " + folder.string()
                                 + " or up to two folders above that lists its files: copy the "
                                   "whole folder of the vectors");
    return found;
}

struct Result { size_t cases = 0, failed = 0; std::string first; };

/* Compares one column; false where there is no such operation. */
template <class Answer>
bool compare(const File &file, size_t column, size_t columns, Answer &&answer, Result &result)
{
    if (!is_known(file.op))
        return false;
    const auto judge = [&](const Words &line, size_t width, const Words &got, size_t from,
                           size_t outs) {
        bool same = true;
        for (size_t j = 0; j < outs; ++j) {
            const uint32_t want = line[width + column * outs + j], have = got[from + j];
            same = same && (want == have || (is_nan(want, file.op, file.format, file.type)
                                             && is_nan(have, file.op, file.format, file.type)));
        }
        result.failed += same ? 0 : 1;
        if (!same && result.first.empty())
            result.first = "in " + shown(line, 0, width) + ", want "
                           + shown(line, width + column * outs, width + (column + 1) * outs)
                           + ", got " + shown(got, from, from + outs);
    };
    Words in;
    const size_t width = inputs(file.op, file.format, file.lines[0]);
    for (const Words &line : file.lines) {
        const size_t n = inputs(file.op, file.format, line);
        if (n == 0 || n >= line.size() || (line.size() - n) % columns)
            throw std::runtime_error("a line has " + std::to_string(line.size()) + " words");
        if (!is_even(file.op)) {
            const Words words(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(n));
            const std::optional<Words> got = answer(1, words);
            if (!got)
                return false;
            if (got->size() != line.size() - n)
                throw std::runtime_error(std::to_string(got->size()) + " words came");
            judge(line, n, *got, 0, line.size() - n);
        } else if (line.size() != file.lines[0].size()) {
            throw std::runtime_error("lines have different numbers of words");
        } else {
            in.insert(in.end(), line.begin(), line.begin() + static_cast<std::ptrdiff_t>(n));
        }
    }
    if (is_even(file.op)) {
        const size_t outs = (file.lines[0].size() - width) / columns, n = file.lines.size();
        const std::optional<Words> got = answer(n, in);
        if (!got)
            return false;
        if (got->size() != n * outs)
            throw std::runtime_error(std::to_string(got->size()) + " words came");
        for (size_t i = 0; i < n; ++i)
            judge(file.lines[i], width, *got, i * outs, outs);
    }
    result.cases += file.lines.size();
    return true;
}

/* Blocks and tensors whose values, scales and codes lie in all kinds of places. */
template <class Machine, class Kit> Result placed(const File &file, const Policy &policy)
{
    Result all;
    for (const Places &places : PLACES) {
        const Operations<Machine, Kit> operations(policy, &places);
        Result result;
        compare(
            file, 0, 1,
            [&](size_t n, const Words &in) {
                return operations(file.op, file.format, file.type, n, in);
            },
            result);
        all.cases += result.cases;
        all.failed += result.failed;
        if (result.failed && all.first.empty())
            all.first = std::string(places.name) + ": " + result.first;
    }
    return all;
}

/* A matrix of scales, unpacked from tiles, packed into tiles again: the bytes of the file, and 00
 * in as many places as the tiles have more than the matrix, where the file has ff. */
template <class Machine, class Kit> Result tiled_again(const File &file)
{
    const Operations<Machine, Kit> operations(Policy::parse("ocp+scale_layout=tiles_128x4"));
    Result result;
    for (const Words &line : file.lines) {
        const size_t count = size_t(line[0]) * line[1], size = line.size() - 2 - count;
        Words in(line.begin(), line.begin() + 2);
        in.insert(in.end(), line.end() - static_cast<std::ptrdiff_t>(count), line.end());
        const std::optional<Words> got = operations("pack_scales", "e8m0", "bytes", 1, in);
        size_t filled = 0;
        bool same = got && got->size() == size;
        for (size_t i = 0; same && i < size; ++i) {
            const bool filler = (*got)[i] == 0 && line[2 + i] == 0xff;
            filled += filler ? 1 : 0;
            same = filler || (*got)[i] == line[2 + i];
        }
        result.cases += 1;
        if (!same || filled != size - count) {
            result.failed += 1;
            if (result.first.empty())
                result.first = "rows and columns " + shown(line, 0, 2);
        }
    }
    return result;
}

template <class Machine, class Kit>
int check(const std::string &folder, const std::string &head, Report &report)
{
    const std::filesystem::path top = std::filesystem::canonical(folder);
    std::map<std::filesystem::path, size_t> files = listed(top);
    for (const auto &entry : std::filesystem::recursive_directory_iterator(top))
        if (entry.path().extension() == ".txt")
            files.emplace(entry.path(), 0);
    const auto add = [&](const std::string &name, const Result &result) {
        const std::string first
            = result.failed ? ", \"first\": " + quoted(result.first) : std::string();
        std::string line = format("%s  %s  %zu cases, %zu failed", result.failed ? "FAIL" : "ok  ",
                                  name.c_str(), result.cases, result.failed);
        if (result.failed)
            line += ": " + result.first;
        report.add(format("{\"file\": \"%s\", \"cases\": %zu, \"failed\": %zu", name.c_str(),
                          result.cases, result.failed)
                       + first + "}",
                   line, result.cases, result.failed);
    };
    std::string uncovered;
    for (const auto &[path, cases] : files) {
        const std::string name = path.parent_path().filename().string() + "/" + path.stem().string();
        try {
            const File file = read(path);
            if (file.lines.size() != cases)
                throw std::runtime_error("it has " + std::to_string(file.lines.size())
                                         + " cases, the manifest says "
                                         + std::to_string(cases));
            const std::vector<Policy> policies = columns(file.op, file.format);
            bool covered = file.format == "e8m0" || with_block_format(file.format, [](auto) {});
            for (size_t i = 0; covered && i < policies.size(); ++i) {
                const Operations<Machine, Kit> operations(policies[i]);
                Result result;
                covered = compare(
                    file, i, policies.size(),
                    [&](size_t n, const Words &in) {
                        return operations(file.op, file.format, file.type, n, in);
                    },
                    result);
                if (covered)
                    add(i ? name + " " + policies[i].text : name, result);
            }
            if (!covered)
                uncovered += (uncovered.empty() ? "" : ", ") + name;
            if (!covered)
                report.rows.push_back("{\"file\": " + quoted(name) + ", \"covered\": false}");
            if (Kit::whole && covered && file.op.find("quantize") != std::string::npos)
                add(name + " in other places", placed<Machine, Kit>(file, policies[0]));
            if (Kit::whole && name == "unpack_scales/e8m0.tiles_128x4")
                add(name + " packed again", tiled_again<Machine, Kit>(file));
        } catch (const std::exception &error) {
            report.broken = true;
            report.add("{\"file\": " + quoted(name) + ", \"error\": " + quoted(error.what()) + "}",
                       "FAIL  " + name + ": " + error.what(), 0, 0);
        }
    }
    if (!report.json && !uncovered.empty())
        std::printf("--    not covered: %s\n", uncovered.c_str());
    return report.finish(head);
}

} // namespace vectors

#endif
