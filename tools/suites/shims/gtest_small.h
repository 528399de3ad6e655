// As much of GoogleTest as the suites need: their tests run one by one and say the lines that fail.
#pragma once
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace testing {
struct Test {
  virtual ~Test() = default;
  void run() { SetUp(); TestBody(); }
  virtual void TestBody() = 0;
 protected:
  virtual void SetUp() {}
};
inline std::vector<std::pair<std::string, void (*)()>> tests;
inline std::string failures;
struct Expectation {  // what is streamed into an expectation is dropped
  template <typename T> Expectation &operator<<(const T &) { return *this; }
};
inline Expectation expect(bool holds, int line) {
  if (!holds) failures += (failures.empty() ? "line " : ", ") + std::to_string(line);
  return {};
}
template <typename T> bool add(const char *name) {
  tests.push_back({name, [] { T test; test.run(); }});
  return true;
}
}  // namespace testing

#define TEST_F(FIXTURE, NAME)                                                          \
  struct FIXTURE##_##NAME : FIXTURE { void TestBody() override; };                     \
  static bool FIXTURE##_##NAME##_added = testing::add<FIXTURE##_##NAME>(#FIXTURE "." #NAME); \
  void FIXTURE##_##NAME::TestBody()
#define EXPECT_TRUE(A) testing::expect(bool(A), __LINE__)
#define EXPECT_FALSE(A) testing::expect(!(A), __LINE__)
#define EXPECT_EQ(A, B) testing::expect((A) == (B), __LINE__)
#define EXPECT_NEAR(A, B, C) testing::expect(std::abs((A) - (B)) <= (C), __LINE__)

extern "C" int test_count() { return testing::tests.size(); }
extern "C" const char *test_name(int i) { return testing::tests[i].first.c_str(); }
extern "C" const char *run_test(int i) {
  testing::failures.clear();
  try {
    testing::tests[i].second();
  } catch (const char *reason) {
    testing::failures = reason;
  }
  return testing::failures.c_str();
}
