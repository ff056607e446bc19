// Measures one encrypted search of HEVEC on one thread: `hevec COUNT ROUNDS COMMIT` prints a JSON line.
//
// Client and server run in this process and call the library as its HTTP client and server do, without
// HTTP. The vectors are random and of unit length. The server's PIR table and PIR keys are left out.

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "HEVEC/Client.hpp"
#include "HEVEC/Server.hpp"

using namespace HEVEC;

namespace {

constexpr u64 LOG_RANK = 7;
constexpr u64 DIMENSION = 1ULL << LOG_RANK;
constexpr u64 STACK = DEGREE / DIMENSION;
constexpr std::size_t K = 10;

// What its HTTP client sends and receives: every coefficient as 8 bytes.
constexpr u64 WORD = sizeof(u64);
constexpr u64 QUERY_BYTES = (STACK + 1) * DIMENSION * WORD;
constexpr u64 SCORE_BYTES = 2 * DEGREE * WORD;
constexpr u64 SWITCHING_KEY_BYTES = 4 * DEGREE * WORD;
constexpr u64 KEY_BYTES = (1 + 2 * DIMENSION * STACK) * SWITCHING_KEY_BYTES;

// Its HTTP client sends the keys of its PIR together with those of the search.
constexpr u64 PIR_KEY_BYTES = 1024 * SWITCHING_KEY_BYTES;

using Vector = std::vector<double>;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The processor's time of this process, which other programs on the same cores do not lengthen.
double processor() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Vector unitVector(std::mt19937_64 &random) {
  std::normal_distribution<double> normal;
  Vector vector(DIMENSION);
  double square = 0;
  for (double &value : vector) {
    value = normal(random);
    square += value * value;
  }
  for (double &value : vector)
    value /= std::sqrt(square);
  return vector;
}

Message message(const Vector &vector) {
  Message result(DIMENSION);
  std::copy(vector.begin(), vector.end(), result.getData());
  return result;
}

u64 resident() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      u64 kib = 0;
      status >> kib;
      return kib * 1024;
    }
  return 0;
}

// The exact best scores of one query, worst first.
struct Best {
  std::vector<std::pair<double, u64>> scores;

  void offer(double score, u64 index) {
    if (scores.size() == K && score <= scores.front().first)
      return;
    if (scores.size() == K)
      scores.erase(scores.begin());
    const std::pair<double, u64> entry(score, index);
    scores.insert(std::upper_bound(scores.begin(), scores.end(), entry), entry);
  }

  bool holds(u64 index) const {
    return std::any_of(scores.begin(), scores.end(), [&](const auto &entry) { return entry.second == index; });
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: hevec COUNT ROUNDS COMMIT\n");
    return 2;
  }
  const u64 count = std::strtoull(argv[1], nullptr, 10);
  const std::size_t rounds = std::strtoull(argv[2], nullptr, 10);
  if (count < K || rounds == 0) {
    std::fprintf(stderr, "hevec: COUNT is %s and ROUNDS %s; they must be at least 10 and 1\n", argv[1], argv[2]);
    return 2;
  }
  // The scales that its HTTP client takes for an encrypted query by cosine.
  const double scale = std::pow(2.0, LOG_SCALE);
  std::mt19937_64 random(7);

  const u64 empty = resident();
  Client client(LOG_RANK);
  SecretKey secret;
  SwitchingKey relinearisation;
  AutedModPackKeys packing(DIMENSION);
  AutedModPackMLWEKeys unpacking(DIMENSION);
  client.genSecKey(secret);
  client.genRelinKey(relinearisation, secret);
  client.genAutedModPackKeys(packing, secret);
  client.genInvAutedModPackKeys(unpacking, secret);
  Server server(LOG_RANK, relinearisation, packing, unpacking);

  std::vector<Vector> queries;
  for (std::size_t round = 0; round < rounds; ++round)
    queries.push_back(unitVector(random));
  std::vector<Best> exact(rounds);

  // As the server's insert does: blocks of DEGREE vectors, the last one padded with zeros.
  double insert = 0;
  std::vector<CachedKeys> blocks;
  for (u64 first = 0; first < count; first += DEGREE) {
    std::vector<MLWECiphertext> keys;
    keys.reserve(DEGREE);
    for (u64 index = first; index < std::min(first + DEGREE, count); ++index) {
      const Vector vector = unitVector(random);
      for (std::size_t round = 0; round < rounds; ++round) {
        double score = 0;
        for (u64 i = 0; i < DIMENSION; ++i)
          score += vector[i] * queries[round][i];
        exact[round].offer(score, index);
      }
      const Message plain = message(vector);
      const auto start = Clock::now();
      keys.emplace_back(DIMENSION);
      client.encryptKey(keys.back(), plain, secret, scale);
      insert += since(start);
    }
    const auto start = Clock::now();
    keys.resize(DEGREE, MLWECiphertext(DIMENSION));
    blocks.emplace_back(DIMENSION);
    server.cacheKeys(blocks.back(), keys);
    insert += since(start);
    std::fprintf(stderr, "\rhevec: %llu of %llu", (unsigned long long)std::min(first + DEGREE, count),
                 (unsigned long long)count);
  }
  std::fprintf(stderr, "\n");
  const u64 filled = resident();

  std::vector<double> encrypt, answer, decrypt, whole, busy;
  u64 found = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const Message plain = message(queries[round]);
    const double before = processor();
    auto start = Clock::now();
    MLWECiphertext query(DIMENSION);
    client.encryptQuery(query, plain, secret, scale);
    encrypt.push_back(since(start));

    start = Clock::now();
    CachedQuery expanded(DIMENSION);
    server.cacheQuery(expanded, query);
    std::vector<Ciphertext> scores(blocks.size());
    for (std::size_t block = 0; block < blocks.size(); ++block)
      server.innerProduct(scores[block], expanded, blocks[block]);
    answer.push_back(since(start));

    start = Clock::now();
    std::vector<Message> plains(scores.size(), Message(DEGREE));
    client.decryptScore(plains, scores, secret, scale * scale);
    TopK top(K);
    client.topKScore(top, plains);
    decrypt.push_back(since(start));

    busy.push_back(processor() - before);
    whole.push_back(encrypt.back() + answer.back() + decrypt.back());
    for (std::size_t i = 0; i < K; ++i)
      found += exact[round].holds(top[i]);
  }
  const double recall = double(found) / double(K * rounds);
  if (recall < 0.9) {
    std::fprintf(stderr, "hevec: recall@10 is %.3f; a search that works finds at least 0.9\n", recall);
    return 1;
  }
  std::printf("{\"group\":\"systems/search\",\"function\":\"hevec\",\"parameter\":\"%llux%llu\",\"median_ns\":%.0f,"
              "\"cpu_ns\":%.0f,"
              "\"encrypt_ns\":%.0f,\"server_ns\":%.0f,\"decrypt_ns\":%.0f,\"bytes_up\":%llu,\"bytes_down\":%llu,"
              "\"bytes_once\":%llu,\"bytes_once_with_pir\":%llu,\"server_bytes\":%llu,\"insert_ns\":%.0f,"
              "\"recall\":%.4f,\"rounds\":%zu,\"commit\":\"%s\"}\n",
              (unsigned long long)count, (unsigned long long)DIMENSION, median(whole), median(busy),
              median(encrypt), median(answer), median(decrypt), (unsigned long long)QUERY_BYTES,
              (unsigned long long)(blocks.size() * SCORE_BYTES), (unsigned long long)KEY_BYTES,
              (unsigned long long)(KEY_BYTES + PIR_KEY_BYTES), (unsigned long long)(filled - empty),
              insert / double(count), recall, rounds, argv[3]);
  return 0;
}
