/* What verification in batches spends most of its time on, compiled: an optional part of `native.py`.

Three functions of NumPy's kind (generalized ufuncs), so that NumPy checks types, shapes and axes, and makes
the loops. They give bit for bit what `batch_field` and `batch_turboshake` give, which explain the steps.
Eight reports go together, in the vectors that GCC and Clang know.

Constant time: there is no branch and no address that depends on a value, only on shapes. Compilers do not
promise to keep that, but have no reason to add one. What stays in NumPy and Python is not constant in time:
the canonical form of elements, and rejection sampling, which shows that a number was no element (as in the
draft). */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/ndarrayobject.h>
#include <numpy/ufuncobject.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are read as they lie in memory: only for little-endian machines"
#endif

/* A second form for processors with AVX-512, which multiply eight numbers of 64 bits at once. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define IN_BOTH_FORMS __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define IN_BOTH_FORMS
#endif
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 8 };
typedef int64_t Signed __attribute__((vector_size(8 * LANES)));
typedef uint64_t Word __attribute__((vector_size(8 * LANES)));

/* Fields ------------------------------------------------------------------------------------------------- */

typedef struct {
    int limbs, bits, shift;
    int64_t multiplier;
    npy_intp terms; /* that many products of small elements can be added up without overflow */
} Shape;            /* `_Shape` of `batch_field` */

static const Shape FIELD64 = {3, 22, 1, 1 << 10, ((npy_intp)1 << 62) / (3 * ((npy_intp)1 << 54))};
static const Shape FIELD128 = {5, 26, 2, 7 << 14, ((npy_intp)1 << 62) / (5 * ((npy_intp)1 << 54))};
enum { MOST_LIMBS = 5, MOST_COLUMNS = 2 * MOST_LIMBS };

INLINE int lanes_left(npy_intp at, npy_intp count) { return count - at < LANES ? (int)(count - at) : LANES; }

INLINE Signed load(const char *from, npy_intp step, int lanes) {
    Signed loaded = {0};
    if (step == 8 && lanes == LANES)
        memcpy(&loaded, from, sizeof loaded);
    else
        for (int lane = 0; lane < lanes; lane++) loaded[lane] = *(const int64_t *)(from + lane * step);
    return loaded;
}

INLINE void store(char *to, npy_intp step, int lanes, Signed value) {
    if (step == 8 && lanes == LANES)
        memcpy(to, &value, sizeof value);
    else
        for (int lane = 0; lane < lanes; lane++) *(int64_t *)(to + lane * step) = value[lane];
}

/* `_reduced`: small elements in the first limbs of `count` columns, of which the last one is free. */
INLINE void reduce(Signed *columns, int count, Shape shape) {
    const int64_t mask = ((int64_t)1 << shape.bits) - 1;
    for (;;) {
        columns[count - 1] = columns[count - 2] >> shape.bits;
        for (int i = count - 2; i > 0; i--)
            columns[i] = (columns[i] & mask) + (columns[i - 1] >> shape.bits);
        columns[0] &= mask;
        Signed high[MOST_LIMBS];
        int highs = count - shape.limbs;
        int left = highs + shape.shift > shape.limbs ? highs + shape.shift : shape.limbs;
        for (int i = 0; i < highs; i++) high[i] = columns[shape.limbs + i] << 2;
        for (int i = shape.limbs; i < left; i++) columns[i] = (Signed){0};
        for (int i = 0; i < highs; i++) columns[i] -= high[i];
        for (int i = 0; i < highs; i++) columns[shape.shift + i] += high[i] * shape.multiplier;
        if (count == shape.limbs + 1) break;
        count = left + 1;
    }
    columns[shape.shift + 1] += columns[shape.shift] >> shape.bits;
    columns[shape.shift] &= mask;
}

/* Adds the products of the limbs of LANES elements to columns. */
INLINE void add_products(Signed *columns, const char *left, npy_intp left_step, npy_intp left_limb,
                         const char *right, npy_intp right_step, npy_intp right_limb, int lanes, Shape shape) {
    Signed limbs[MOST_LIMBS];
    for (int i = 0; i < shape.limbs; i++) limbs[i] = load(left + i * left_limb, left_step, lanes);
    for (int j = 0; j < shape.limbs; j++) {
        Signed limb = load(right + j * right_limb, right_step, lanes);
        for (int i = 0; i < shape.limbs; i++) columns[i + j] += limbs[i] * limb;
    }
}

/* Signature (limbs),(limbs)->(limbs). Steps are those of the loop, for each array, then those of the limbs. */
INLINE void multiply(char **arrays, npy_intp count, const npy_intp *steps, Shape shape) {
    for (npy_intp at = 0; at < count; at += LANES) {
        int lanes = lanes_left(at, count);
        Signed columns[MOST_COLUMNS] = {{0}};
        add_products(columns, arrays[0] + at * steps[0], steps[0], steps[3], arrays[1] + at * steps[1],
                     steps[1], steps[4], lanes, shape);
        reduce(columns, 2 * shape.limbs, shape);
        for (int i = 0; i < shape.limbs; i++)
            store(arrays[2] + at * steps[2] + i * steps[5], steps[2], lanes, columns[i]);
    }
}

/* Signature (limbs,k),(limbs,k)->(limbs): steps of the loop, then of limbs and terms, array by array. */
INLINE void inner_product(char **arrays, npy_intp count, npy_intp terms, const npy_intp *steps, Shape shape) {
    for (npy_intp at = 0; at < count; at += LANES) {
        int lanes = lanes_left(at, count);
        Signed total[MOST_LIMBS + 1] = {{0}};
        for (npy_intp first = 0; first < terms; first += shape.terms) {
            npy_intp end = terms - first < shape.terms ? terms : first + shape.terms;
            Signed columns[MOST_COLUMNS] = {{0}};
            for (npy_intp k = first; k < end; k++)
                add_products(columns, arrays[0] + at * steps[0] + k * steps[4], steps[0], steps[3],
                             arrays[1] + at * steps[1] + k * steps[6], steps[1], steps[5], lanes, shape);
            reduce(columns, 2 * shape.limbs, shape);
            for (int i = 0; i < shape.limbs; i++) total[i] += columns[i];
            if (first > 0) reduce(total, shape.limbs + 1, shape);
        }
        for (int i = 0; i < shape.limbs; i++)
            store(arrays[2] + at * steps[2] + i * steps[7], steps[2], lanes, total[i]);
    }
}

#define UNUSED __attribute__((unused))

IN_BOTH_FORMS
static void multiply64(char **arrays, const npy_intp *sizes, const npy_intp *steps, UNUSED void *data) {
    multiply(arrays, sizes[0], steps, FIELD64);
}

IN_BOTH_FORMS
static void multiply128(char **arrays, const npy_intp *sizes, const npy_intp *steps, UNUSED void *data) {
    multiply(arrays, sizes[0], steps, FIELD128);
}

IN_BOTH_FORMS
static void inner_product64(char **arrays, const npy_intp *sizes, const npy_intp *steps, UNUSED void *data) {
    inner_product(arrays, sizes[0], sizes[2], steps, FIELD64);
}

IN_BOTH_FORMS
static void inner_product128(char **arrays, const npy_intp *sizes, const npy_intp *steps, UNUSED void *data) {
    inner_product(arrays, sizes[0], sizes[2], steps, FIELD128);
}

/* TurboSHAKE128 (RFC 9861) ------------------------------------------------------------------------------- */

enum { RATE = 168, STATE = 25, ROUNDS = 12 };

static const uint64_t ROUND_CONSTANTS[ROUNDS] = {
    0x000000008000808bu, 0x800000000000008bu, 0x8000000000008089u, 0x8000000000008003u,
    0x8000000000008002u, 0x8000000000000080u, 0x000000000000800au, 0x800000008000000au,
    0x8000000080008081u, 0x8000000000008080u, 0x0000000080000001u, 0x8000000080008008u};

/* FIPS 202, sections 3.2.2 and 3.2.3: by how many bits the lane at x + 5y turns, and where it goes. */
static const int ROTATIONS[STATE] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                                     25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
static const int PLACES[STATE] = {0, 10, 20, 5, 15, 16, 1, 11, 21, 6, 7, 17, 2,
                                  12, 22, 23, 8, 18, 3, 13, 14, 24, 9, 19, 4};

/* Keccak-p[1600, 12] (FIPS 202, section 3.3) of LANES states. */
INLINE void permute(Word *state) {
    for (int round = 0; round < ROUNDS; round++) {
        Word parity[5], turned[STATE];
        for (int x = 0; x < 5; x++)
            parity[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
#pragma GCC unroll 25
        for (int i = 0; i < STATE; i++) {
            Word next = parity[(i + 1) % 5];
            Word lane = state[i] ^ parity[(i + 4) % 5] ^ (next << 1 | next >> 63);
            turned[PLACES[i]] = lane << ROTATIONS[i] | lane >> ((64 - ROTATIONS[i]) % 64);
        }
#pragma GCC unroll 25
        for (int i = 0; i < STATE; i++) {
            int row = i - i % 5;
            state[i] = turned[i] ^ (~turned[row + (i + 1) % 5] & turned[row + (i + 2) % 5]);
        }
        state[0] ^= ROUND_CONSTANTS[round];
    }
}

INLINE void copy(char *to, npy_intp to_step, const char *from, npy_intp from_step, npy_intp bytes) {
    if (to_step == 1 && from_step == 1)
        memcpy(to, from, (size_t)bytes);
    else
        for (npy_intp i = 0; i < bytes; i++) to[i * to_step] = from[i * from_step];
}

/* Signature (m),()->(l): message, domain byte, output. */
IN_BOTH_FORMS
static void turboshake128(char **arrays, const npy_intp *sizes, const npy_intp *steps, UNUSED void *data) {
    const npy_intp count = sizes[0], size = sizes[1], length = sizes[2];
    for (npy_intp at = 0; at < count; at += LANES) {
        int lanes = lanes_left(at, count);
        Word state[STATE] = {{0}};
        uint64_t block[LANES][RATE / 8] = {{0}};
        for (npy_intp from = 0; from <= size; from += RATE) {
            npy_intp left = size - from;
            for (int lane = 0; lane < lanes; lane++) {
                char *bytes = (char *)block[lane];
                const char *message = arrays[0] + (at + lane) * steps[0] + from * steps[3];
                memset(bytes, 0, RATE);
                copy(bytes, 1, message, steps[3], left < RATE ? left : RATE);
                if (left < RATE) {
                    bytes[left] = arrays[1][(at + lane) * steps[1]];
                    bytes[RATE - 1] ^= (char)0x80;
                }
            }
            for (int word = 0; word < RATE / 8; word++)
                for (int lane = 0; lane < LANES; lane++) state[word][lane] ^= block[lane][word];
            permute(state);
        }
        for (npy_intp to = 0; to < length; to += RATE) {
            npy_intp left = length - to;
            if (to > 0) permute(state);
            for (int word = 0; word < RATE / 8; word++)
                for (int lane = 0; lane < LANES; lane++) block[lane][word] = state[word][lane];
            for (int lane = 0; lane < lanes; lane++)
                copy(arrays[2] + (at + lane) * steps[2] + to * steps[4], steps[4], (char *)block[lane], 1,
                     left < RATE ? left : RATE);
        }
    }
}

/* The module --------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *signature;
    PyUFuncGenericFunction loop;
    char types[3];
} Function;

static Function FUNCTIONS[] = {
    {"multiply64", "(3),(3)->(3)", multiply64, {NPY_INT64, NPY_INT64, NPY_INT64}},
    {"multiply128", "(5),(5)->(5)", multiply128, {NPY_INT64, NPY_INT64, NPY_INT64}},
    {"inner_product64", "(3,k),(3,k)->(3)", inner_product64, {NPY_INT64, NPY_INT64, NPY_INT64}},
    {"inner_product128", "(5,k),(5,k)->(5)", inner_product128, {NPY_INT64, NPY_INT64, NPY_INT64}},
    {"turboshake128", "(m),()->(l)", turboshake128, {NPY_UINT8, NPY_UINT8, NPY_UINT8}},
};

static void *NO_DATA[] = {NULL};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "_native", .m_size = -1};

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&MODULE);
    for (size_t i = 0; module != NULL && i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
        Function *made = &FUNCTIONS[i];
        PyObject *function = PyUFunc_FromFuncAndDataAndSignature(
            &made->loop, NO_DATA, made->types, 1, 2, 1, PyUFunc_None, made->name, "", 0, made->signature);
        if (function == NULL || PyModule_AddObject(module, made->name, function) < 0) {
            Py_XDECREF(function);
            Py_CLEAR(module);
        }
    }
    return module;
}
