/* Checks mx_fastpath.cuh; README.md beside it has the commands. */
#include <iostream>

#include "bench.h"
#include "encoders.h"
#include "operations.h"
#include "sweep.h"
#include "vectors.h"
#if defined(MX_KERNELS)
#include "both.h"
#include "replay.h"
#include "wide.h"
#endif
#if defined(MX_INTRINSICS)
#include "intrinsics.h"
using Kit = IntrinsicsKit;
#else
using Kit = HeaderKit;
#endif

namespace {

const char *const USAGE
    = "usage: mx_check [--host | --device [--conversions]] COMMAND\n"
      "  vectors FOLDER [--json]               compare with the files of vectors/plain\n"
      "  sweep FOLDER [--float f32 | bf16] [--stride N] [--json]\n"
      "                                        compare with vectors/thresholds: on a device all\n"
      "                                        floats, on the host every Nth and all thresholds\n"
      "  encoders [nvfp4] [--json]             compare the encoders of the kernels, on the host\n"
      "  both [--json]                         compare quantize_both_kernel with quantize_block\n"
      "  nvfp4 [--json]                        NVFP4 by conversions and by integers, on a device\n"
      "  wide [--json]                         tensors of more than 2^32 numbers, emulated\n"
      "  replay FOLDER [--json]                launches that PTX was interpreted for, on a device\n"
      "  answer [--policy POLICY]              answer the line protocol\n"
      "  raw OP FORMAT TYPE [--policy POLICY]  answer little-endian words, until the input ends\n"
      "  bench [--json]                        measure the kernels on a device\n";

struct Misuse : std::invalid_argument { using std::invalid_argument::invalid_argument; };

struct Arguments {
    std::vector<std::string> words;
    std::string policy = "ocp+scale_layout=tiles_128x4+scale_place=before", type = "f32";
    uint64_t stride = 257;
#if defined(__CUDACC__)
    bool device = true;
#else
    bool device = false;
#endif
    bool conversions = false, json = false;

    Arguments(int count, char **all)
    {
        for (int i = 1; i < count; ++i) {
            const std::string word = all[i];
            const auto value = [&] {
                if (++i == count)
                    throw Misuse(word + " needs a value");
                return std::string(all[i]);
            };
            if (word == "--host" || word == "--device")
                device = word == "--device";
            else if (word == "--conversions")
                conversions = true;
            else if (word == "--json")
                json = true;
            else if (word == "--policy")
                policy = value();
            else if (word == "--float")
                type = value();
            else if (word == "--stride")
                stride = std::strtoull(value().c_str(), nullptr, 10);
            else if (word.compare(0, 2, "--") == 0)
                throw Misuse("unknown: " + word);
            else
                words.push_back(word);
        }
        if (stride == 0 || stride >> 32 != 0 || (type != "f32" && type != "bf16"))
            throw Misuse("--stride must be from 1 to 2**32 - 1, --float f32 or bf16");
        if (conversions && !device)
            throw Misuse("--conversions are a device's: add --device");
        if (type == "bf16")
            stride = 1;
    }
    Policy parsed_policy() const
    {
        Policy parsed = Policy::parse(policy);
        parsed.conversions = conversions;
        return parsed;
    }
    const std::string &word(size_t i) const
    {
        if (i >= words.size())
            throw Misuse("something is missing");
        return words[i];
    }
};

/* The program's answers to lines of text, each flushed. */
template <class Machine> int answer(const Policy &policy)
{
    const Operations<Machine, Kit> operations(policy);
    std::cout << "# policy " << policy.text << "\n# formats";
    for (const char *element : {"e5m2", "e4m3", "e3m2", "e2m3", "e2m1"})
        std::cout << " " << element << " mxfp" << (element[1] - '0') + (element[3] - '0') + 1 << "_"
                  << element;
    std::cout << (Kit::whole ? " int8 mxint8 fp4_ue4m3 nvfp4" : "") << " e8m0\n# floats f32 bf16"
              << (Kit::whole ? " f16" : "") << "\n" << std::flush;
    for (std::string line; std::getline(std::cin, line);) {
        if (line.empty() || line[0] == '#')
            continue;
        std::istringstream stream(line);
        std::string id, op, format, type, word;
        stream >> id >> op >> format >> type;
        try {
            Words in;
            while (stream >> word) {
                size_t used = 0;
                if (word.size() > 8)
                    break; /* of a float64 */
                in.push_back(static_cast<uint32_t>(std::stoul(word, &used, 16)));
                if (used != word.size())
                    throw std::runtime_error("not hex: " + word);
            }
            const auto out = operations(op, format, type, 1, in);
            std::cout << id;
            if (!out)
                std::cout << " unsupported";
            else
                for (const uint32_t code : *out)
                    std::cout << ::format(" %x", code);
        } catch (const std::exception &error) {
            std::cout << id << " error " << error.what();
        }
        std::cout << "\n" << std::flush;
    }
    return 0;
}

/* Bytes of a word of a float type. */
size_t width_of(const std::string &type) { return type == "f32" ? 4 : 2; }

/* Binary words in, binary words out: for sets too large to be text. */
template <class Machine>
int raw(const Policy &policy, const std::string &op, const std::string &format,
        const std::string &type)
{
    const bool floats_in = op == "encode" || op == "encode_scale" || op == "shared_scale"
                           || op == "quantize";
    const bool floats_out = op == "decode" || op == "decode_scale" || op == "dequantize";
    if (!floats_in && !floats_out && op != "pack")
        throw Misuse("raw has encode, decode, encode_scale, decode_scale, shared_scale, quantize, "
                     "dequantize and pack");
    const size_t in_width = floats_in ? width_of(type) : 1;
    const size_t out_width = floats_out ? width_of(type) : 1;
    const size_t words = op == "quantize"     ? mx::BLOCK
                         : op == "dequantize" ? mx::BLOCK + 1
                         : op == "pack"       ? 4
                                              : 1;
    const Operations<Machine, Kit> operations(policy);
    std::vector<char> bytes((words == 1 ? size_t(1) << 20 : size_t(1) << 16) * words * in_width);
    while (std::cin.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))
           || std::cin.gcount()) {
        const size_t count = static_cast<size_t>(std::cin.gcount());
        if (count % (words * in_width))
            throw std::runtime_error("the input ends within a case");
        Words in(count / in_width);
        for (size_t i = 0; i < count; ++i)
            in[i / in_width] |= uint32_t(static_cast<unsigned char>(bytes[i]))
                                << 8 * (i % in_width);
        const auto out = operations(op, format, type, in.size() / words, in);
        if (!out)
            throw Misuse("no such format or type");
        std::string written;
        for (const uint32_t word : *out)
            for (size_t i = 0; i < out_width; ++i)
                written += static_cast<char>(word >> 8 * i);
        std::cout << written;
    }
    return std::cout.flush() ? 0 : 1;
}

/* What computes, for the end of a JSON report. */
template <class Machine> std::string head()
{
    std::string text = "\"program\": \"mx_check\", \"machine\": " + quoted(Machine::name)
                       + ", \"target\": " + quoted(Kit::name);
#if defined(__CUDACC__)
    if (std::is_same_v<Machine, Device>) {
        cudaDeviceProp device{};
        int driver = 0, runtime = 0;
        cuda(cudaGetDeviceProperties(&device, 0));
        cuda(cudaDriverGetVersion(&driver));
        cuda(cudaRuntimeGetVersion(&runtime));
        text += ", \"device\": " + quoted(device.name)
                + format(", \"capability\": \"%d.%d\", \"driver\": %d, \"runtime\": %d",
                         device.major, device.minor, driver, runtime);
    }
#endif
    return text;
}

template <class Machine> int run(const Arguments &arguments)
{
    const std::string &command = arguments.word(0);
    Report report;
    report.json = arguments.json;
    if (command == "vectors")
        return vectors::check<Machine, Kit>(arguments.word(1), head<Machine>(), report);
    if (command == "sweep")
        return sweep::check<Machine, Kit>(arguments.word(1), arguments.type, arguments.stride,
                                          head<Machine>(), report);
    if (command == "encoders" && std::is_same_v<Machine, Host>)
        return encoders::run(arguments.words.size() < 2 || arguments.word(1) != "nvfp4",
                             head<Machine>(), report);
#if defined(MX_KERNELS)
    if (command == "both" && std::is_same_v<Machine, Device>)
        return both::run(head<Machine>(), report);
    if (command == "nvfp4" && std::is_same_v<Machine, Device>)
        return nvfp4::run(head<Machine>(), report);
    if (command == "replay" && std::is_same_v<Machine, Device>)
        return replay::run(arguments.word(1), head<Machine>(), report);
#if !defined(__CUDACC__)
    if (command == "wide" && std::is_same_v<Machine, Device>)
        return wide::run(head<Machine>(), report);
#endif
#endif
    if (command == "answer")
        return answer<Machine>(arguments.parsed_policy());
    if (command == "raw")
        return raw<Machine>(arguments.parsed_policy(), arguments.word(1), arguments.word(2),
                            arguments.word(3));
#if defined(__CUDACC__) && !defined(MX_INTRINSICS)
    if constexpr (std::is_same_v<Machine, Device>)
        if (command == "bench")
            return bench::run(head<Machine>(), report);
#endif
    throw Misuse(command == "bench" ? "bench needs a build by nvcc, and a device"
                                    : "no such command: " + command);
}

} // namespace

int main(int count, char **words)
{
    std::ios::sync_with_stdio(false);
    try {
        const Arguments arguments(count, words);
#if defined(MX_KERNELS)
        if (arguments.device)
            return run<Device>(arguments);
#else
        if (arguments.device)
            throw Misuse("this program was built without a device");
#endif
        return run<Host>(arguments);
    } catch (const std::invalid_argument &error) {
        std::cerr << error.what() << "\n" << USAGE;
        return 2;
    } catch (const std::exception &error) {
        std::cerr << "mx_check: " << error.what() << "\n";
        return 1;
    }
}
