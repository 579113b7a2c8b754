/* Every file in kernels/level/ is compiled once per instruction-set level (CMakeLists.txt: ref = baseline x86-64 or any
 * other CPU, avx2 = -mavx2 -mfma -mf16c -mbmi2). The arithmetic is written once, in plain C with explicit fmaf and
 * fixed orders, so every level gives the same bits; a level only changes how fast. KERNEL(name) gives the symbol its
 * level's suffix: matvec_fill -> matvec_fill_avx2. Everything else in such a file is static. */
#ifndef CONVECT_KERNELS_LEVEL_H
#define CONVECT_KERNELS_LEVEL_H

#ifndef KERNEL_LEVEL
#error "files of kernels/level/ are compiled with -DKERNEL_LEVEL=<name>"
#endif
#define KERNEL_PASTE_(name, level) name##_##level
#define KERNEL_PASTE(name, level)  KERNEL_PASTE_(name, level)
#define KERNEL(name)               KERNEL_PASTE(name, KERNEL_LEVEL)

#endif
