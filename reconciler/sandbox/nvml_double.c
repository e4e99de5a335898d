/*
 * A double of NVIDIA's management library, for the probe's tests and the demo: what pynvml asks of libnvidia-ml.so.1,
 * answered from the environment. Build (reconciler/sandbox/nvml_double.py does it):
 *
 *   cc -std=gnu11 -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden \
 *      -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 nvml_double.c
 *
 * The environment is read on every call, so a test may change the world under a running process.
 * A variable with _N behind it (N: the GPU's index) goes before the one without.
 *
 *   NVML_DOUBLE_COUNT              GPUs (1)
 *   NVML_DOUBLE_DRIVER             driver version (580.159.03)
 *   NVML_DOUBLE_NVML               library version (13.580.159.03)
 *   NVML_DOUBLE_NAME[_N]           product name (Tesla T4)
 *   NVML_DOUBLE_UUID[_N]           UUID (GPU-00000000-0000-0000-0000-00000000000N)
 *   NVML_DOUBLE_PCI[_N]            PCI bus id (00000000:00:1E.0, then 1D, 1C, ...)
 *   NVML_DOUBLE_TOTAL_MIB[_N]      memory (15360)
 *   NVML_DOUBLE_RESERVED_MIB[_N]   of it, kept by driver and firmware (450)
 *   NVML_DOUBLE_USED_MIB[_N]       of it, allocated (0)
 *   NVML_DOUBLE_ECC[_N]            1, 0, or - for a GPU without ECC (1)
 *   NVML_DOUBLE_MIG[_N]            unset: no MIG. off: MIG-capable, mode off. Else the devices, each GI:CI:MIB, parted
 *                                  by ';'; '-' is an empty place. Empty: MIG is on, without a device.
 *   NVML_DOUBLE_PROCESSES[_N]      compute processes, each PID:BYTES[:GI:CI], parted by ';'; BYTES '-' is "not available"
 *   NVML_DOUBLE_GRAPHICS[_N], NVML_DOUBLE_MPS[_N]   the same for the other two lists
 *   NVML_DOUBLE_ERRORS             FUNCTION[@GPU]=CODE, parted by ','. FUNCTION '*' is any that concerns a device.
 *                                  GPU is an index, N:M is place M of GPU N under MIG. CODE 'hang' never returns.
 *
 * Older libraries: -DNVML_DOUBLE_WITHOUT_INIT_WITH_FLAGS, -DNVML_DOUBLE_WITHOUT_V3 (process lists),
 * -DNVML_DOUBLE_WITHOUT_MEMORY_V2 leave the function out.
 *
 * It cannot show: translation of PIDs between namespaces, real permissions, how a runtime injects devices.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    ARGUMENT_VERSION_MISMATCH = 25
};
enum { MAX_GPUS = 64, MAX_PLACES = 7, MAX_PROCESSES = 64, MAGIC = 0x4E564D4C };

typedef int Return;
typedef struct { unsigned magic; int gpu, place; } Device; /* place -1: the GPU itself */
typedef struct { uint64_t total, free, used; } Memory;
typedef struct { unsigned version; uint64_t total, reserved, free, used; } MemoryV2;
typedef struct { unsigned pid; uint64_t used; unsigned gi, ci; } Process;
typedef struct { unsigned multiprocessors, engines[5], gi_slices, ci_slices; uint64_t memory_mib; } Attributes;
_Static_assert(sizeof(Memory) == 24, "nvmlMemory_t");
_Static_assert(sizeof(MemoryV2) == 40, "nvmlMemory_v2_t");
_Static_assert(sizeof(Process) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(Attributes) == 40, "nvmlDeviceAttributes_t");

static Device gpus[MAX_GPUS], places[MAX_GPUS][MAX_PLACES];
static int inits;

static const char *setting(const char *name, int gpu, const char *fallback) {
    char key[64];
    const char *value = NULL;
    if (gpu >= 0) {
        snprintf(key, sizeof key, "NVML_DOUBLE_%s_%d", name, gpu);
        value = getenv(key);
    }
    if (!value) {
        snprintf(key, sizeof key, "NVML_DOUBLE_%s", name);
        value = getenv(key);
    }
    return value ? value : fallback;
}

static uint64_t number(const char *name, int gpu, const char *fallback) {
    return strtoull(setting(name, gpu, fallback), NULL, 10);
}

static int count(void) {
    uint64_t gpu_count = number("COUNT", -1, "1");
    return gpu_count > MAX_GPUS ? MAX_GPUS : (int)gpu_count;
}

/* The error that is switched on for this function and device, or 0. */
static Return fault(const char *function, const Device *device) {
    char entries[4096], target[32] = "", *rest = NULL;
    snprintf(entries, sizeof entries, "%s", setting("ERRORS", -1, ""));
    if (device && device->place < 0) snprintf(target, sizeof target, "%d", device->gpu);
    if (device && device->place >= 0) snprintf(target, sizeof target, "%d:%d", device->gpu, device->place);
    for (char *entry = strtok_r(entries, ",", &rest); entry; entry = strtok_r(NULL, ",", &rest)) {
        char *code = strchr(entry, '=');
        if (!code) continue;
        *code++ = '\0';
        char *at = strchr(entry, '@');
        if (at) *at++ = '\0';
        if (strcmp(entry, function) != 0 && !(device && strcmp(entry, "*") == 0)) continue;
        if (at && strcmp(at, target) != 0) continue;
        while (strcmp(code, "hang") == 0) pause();
        return atoi(code);
    }
    return OK;
}

/* What every function on a device checks first. */
static Return check(const char *function, const Device *device) {
    if (inits <= 0) return UNINITIALIZED;
    if (!device || device->magic != MAGIC) return INVALID_ARGUMENT;
    return fault(function, device);
}

#define CHECK(device) do { Return error = check(__func__, device); if (error) return error; } while (0)
#define CHECK_SYSTEM() do { Return error = inits > 0 ? fault(__func__, NULL) : UNINITIALIZED; if (error) return error; } while (0)

static Return put(char *buffer, unsigned length, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!buffer || strlen(text) + 1 > length) return INSUFFICIENT_SIZE;
    strcpy(buffer, text);
    return OK;
}

/* The n-th part of a list that ';' divides; NULL where there are fewer. */
static char *part(const char *list, int n, char *buffer, size_t size) {
    for (; n > 0; n--) {
        list = strchr(list, ';');
        if (!list) return NULL;
        list++;
    }
    snprintf(buffer, size, "%.*s", (int)strcspn(list, ";"), list);
    return buffer;
}

/* Reads place n of a GPU; 0 where it is empty. */
static int mig_place(int gpu, int n, unsigned *gi, unsigned *ci, uint64_t *mib) {
    char text[64];
    unsigned long long size;
    const char *list = setting("MIG", gpu, "off");
    if (strcmp(list, "off") == 0 || !part(list, n, text, sizeof text)) return 0;
    if (sscanf(text, "%u:%u:%llu", gi, ci, &size) != 3) return 0;
    *mib = size;
    return 1;
}

static void memory_of(const Device *device, uint64_t *total, uint64_t *reserved, uint64_t *used) {
    unsigned gi, ci;
    *reserved = *used = 0;
    if (device->place >= 0) {
        if (!mig_place(device->gpu, device->place, &gi, &ci, total)) *total = 0;
    } else {
        *total = number("TOTAL_MIB", device->gpu, "15360");
        *reserved = number("RESERVED_MIB", device->gpu, "450");
        *used = number("USED_MIB", device->gpu, "0");
    }
    *total <<= 20, *reserved <<= 20, *used <<= 20;
}

static Return start(const char *function) {
    Return error = fault(function, NULL);
    if (error) return error;
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        gpus[gpu] = (Device){MAGIC, gpu, -1};
        for (int place = 0; place < MAX_PLACES; place++) places[gpu][place] = (Device){MAGIC, gpu, place};
    }
    inits++;
    return OK;
}

EXPORT Return nvmlInit_v2(void) { return start(__func__); }
#ifndef NVML_DOUBLE_WITHOUT_INIT_WITH_FLAGS
EXPORT Return nvmlInitWithFlags(unsigned flags) { (void)flags; return start(__func__); }
#endif

EXPORT Return nvmlShutdown(void) {
    CHECK_SYSTEM();
    inits--;
    return OK;
}

EXPORT const char *nvmlErrorString(Return code) {
    static __thread char text[64];
    snprintf(text, sizeof text, "the double's error %d", code);
    return text;
}

EXPORT Return nvmlSystemGetDriverVersion(char *version, unsigned length) {
    CHECK_SYSTEM();
    return put(version, length, "%s", setting("DRIVER", -1, "580.159.03"));
}

EXPORT Return nvmlSystemGetNVMLVersion(char *version, unsigned length) {
    CHECK_SYSTEM();
    return put(version, length, "%s", setting("NVML", -1, "13.580.159.03"));
}

EXPORT Return nvmlDeviceGetCount_v2(unsigned *gpu_count) {
    CHECK_SYSTEM();
    *gpu_count = (unsigned)count();
    return OK;
}

EXPORT Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    if (inits <= 0) return UNINITIALIZED;
    if (index >= (unsigned)count()) return INVALID_ARGUMENT;
    CHECK(&gpus[index]);
    *device = &gpus[index];
    return OK;
}

static Return uuid_of(const Device *device, char *uuid, unsigned length) {
    const char *own = setting("UUID", device->gpu, NULL);
    if (device->place >= 0) return put(uuid, length, "MIG-00000000-0000-0000-%04d-%012d", device->gpu, device->place);
    return own ? put(uuid, length, "%s", own) : put(uuid, length, "GPU-00000000-0000-0000-0000-%012d", device->gpu);
}

static Return pci_of(const Device *device, char *bus_id, unsigned length) {
    const char *own = setting("PCI", device->gpu, NULL);
    if (own) return put(bus_id, length, "%s", own);
    return put(bus_id, length, "00000000:00:%02X.0", (unsigned)(0x1E - device->gpu) & 0xFF);
}

static Return find(const char *function, const char *wanted, Return (*name)(const Device *, char *, unsigned), Device **found) {
    char text[96];
    if (inits <= 0) return UNINITIALIZED;
    for (int gpu = 0; gpu < count(); gpu++) {
        if (name(&gpus[gpu], text, sizeof text) != OK || strcmp(text, wanted) != 0) continue;
        *found = &gpus[gpu];
        return check(function, *found);
    }
    return NOT_FOUND;
}

EXPORT Return nvmlDeviceGetHandleByUUID(const char *uuid, Device **device) {
    return find(__func__, uuid, uuid_of, device);
}

EXPORT Return nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, Device **device) {
    return find(__func__, bus_id, pci_of, device);
}

EXPORT Return nvmlDeviceGetName(Device *device, char *name, unsigned length) {
    CHECK(device);
    return put(name, length, "%s", setting("NAME", device->gpu, "Tesla T4"));
}

EXPORT Return nvmlDeviceGetUUID(Device *device, char *uuid, unsigned length) {
    CHECK(device);
    return uuid_of(device, uuid, length);
}

EXPORT Return nvmlDeviceGetIndex(Device *device, unsigned *index) {
    CHECK(device);
    *index = (unsigned)(device->place < 0 ? device->gpu : device->place);
    return OK;
}

EXPORT Return nvmlDeviceGetEccMode(Device *device, unsigned *current, unsigned *pending) {
    CHECK(device);
    const char *mode = setting("ECC", device->gpu, "1");
    if (strcmp(mode, "-") == 0) return NOT_SUPPORTED;
    *current = *pending = strcmp(mode, "1") == 0;
    return OK;
}

/* Version 1 counts the reserve as used, version 2 tells it apart (nvml.h). */
EXPORT Return nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
    uint64_t total, reserved, used;
    CHECK(device);
    memory_of(device, &total, &reserved, &used);
    *memory = (Memory){total, total - reserved - used, reserved + used};
    return OK;
}

#ifndef NVML_DOUBLE_WITHOUT_MEMORY_V2
EXPORT Return nvmlDeviceGetMemoryInfo_v2(Device *device, MemoryV2 *memory) {
    uint64_t total, reserved, used;
    CHECK(device);
    if (memory->version != (sizeof(MemoryV2) | 2u << 24)) return ARGUMENT_VERSION_MISMATCH;
    memory_of(device, &total, &reserved, &used);
    *memory = (MemoryV2){memory->version, total, reserved, total - reserved - used, used};
    return OK;
}
#endif

EXPORT Return nvmlDeviceGetMigMode(Device *device, unsigned *current, unsigned *pending) {
    CHECK(device);
    const char *list = setting("MIG", device->gpu, NULL);
    if (!list || device->place >= 0) return NOT_SUPPORTED;
    *current = *pending = strcmp(list, "off") != 0;
    return OK;
}

EXPORT Return nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *max) {
    CHECK(device);
    *max = strcmp(setting("MIG", device->gpu, "off"), "off") == 0 ? 0 : MAX_PLACES;
    return OK;
}

EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned place, Device **found) {
    unsigned gi, ci;
    uint64_t mib;
    CHECK(device);
    if (place >= MAX_PLACES || device->place >= 0) return INVALID_ARGUMENT;
    if (!mig_place(device->gpu, (int)place, &gi, &ci, &mib)) return NOT_FOUND;
    *found = &places[device->gpu][place];
    return OK;
}

EXPORT Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device *device, Device **parent) {
    CHECK(device);
    if (device->place < 0) return INVALID_ARGUMENT;
    *parent = &gpus[device->gpu];
    return OK;
}

EXPORT Return nvmlDeviceIsMigDeviceHandle(Device *device, unsigned *is_mig) {
    CHECK(device);
    *is_mig = device->place >= 0;
    return OK;
}

/* For MIG devices only, as the three that follow are in NVML. */
static Return instance(const Device *device, unsigned *gi, unsigned *ci, uint64_t *mib) {
    if (device->place < 0) return NOT_SUPPORTED;
    return mig_place(device->gpu, device->place, gi, ci, mib) ? OK : NOT_FOUND;
}

EXPORT Return nvmlDeviceGetGpuInstanceId(Device *device, unsigned *id) {
    unsigned ci;
    uint64_t mib;
    CHECK(device);
    return instance(device, id, &ci, &mib);
}

EXPORT Return nvmlDeviceGetComputeInstanceId(Device *device, unsigned *id) {
    unsigned gi;
    uint64_t mib;
    CHECK(device);
    return instance(device, &gi, id, &mib);
}

EXPORT Return nvmlDeviceGetAttributes_v2(Device *device, Attributes *attributes) {
    unsigned gi, ci;
    CHECK(device);
    memset(attributes, 0, sizeof *attributes);
    return instance(device, &gi, &ci, &attributes->memory_mib);
}

#ifndef NVML_DOUBLE_WITHOUT_V3
/* The two-step protocol: too little room answers with the number that is needed. */
static Return processes(const char *list, const Device *device, unsigned *room, Process *out) {
    Process found[MAX_PROCESSES];
    char text[96], bytes[32];
    unsigned have = 0;
    for (int n = 0; have < MAX_PROCESSES && part(setting(list, device->gpu, ""), n, text, sizeof text); n++) {
        Process *process = &found[have];
        process->gi = process->ci = UINT32_MAX;
        if (sscanf(text, "%u:%31[^:]:%u:%u", &process->pid, bytes, &process->gi, &process->ci) < 2) continue;
        process->used = strcmp(bytes, "-") == 0 ? UINT64_MAX : strtoull(bytes, NULL, 10);
        unsigned gi, ci;
        uint64_t mib;
        if (instance(device, &gi, &ci, &mib) == OK && (gi != process->gi || ci != process->ci)) continue;
        have++;
    }
    unsigned given = *room;
    *room = have;
    if (have == 0) return OK;
    if (!out || given < have) return INSUFFICIENT_SIZE;
    memcpy(out, found, have * sizeof *found);
    return OK;
}

EXPORT Return nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *room, Process *out) {
    CHECK(device);
    return processes("PROCESSES", device, room, out);
}

EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device *device, unsigned *room, Process *out) {
    CHECK(device);
    return processes("GRAPHICS", device, room, out);
}

EXPORT Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device *device, unsigned *room, Process *out) {
    CHECK(device);
    return processes("MPS", device, room, out);
}
#endif
