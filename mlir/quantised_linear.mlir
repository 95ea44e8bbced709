// A quantised linear layer as TFLite and TOSA have it: i8 x i8 + bias, then each channel's own multiplier
// and a shift in 64 bits with rounding, an output zero point, and saturation to i8. One dispatch.
//
// aiepipe-test
// input: 16x32xi8
// input: 32x20xi8
// input: 20xi32=1000
// input: 20xi32=1431655765
// output: 16x20xi8
// fills: none
// hazards: none
func.func @linear(%x: tensor<16x32xi8>, %w: tensor<32x20xi8>, %bias: tensor<20xi32>, %multiplier: tensor<20xi32>) -> tensor<16x20xi8> {
  %zero = arith.constant 0 : i32
  %places = arith.constant 38 : i64
  %half = arith.constant 137438953472 : i64
  %point = arith.constant -3 : i64
  %low = arith.constant -128 : i64
  %high = arith.constant 127 : i64
  %0 = tensor.empty() : tensor<16x20xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<16x20xi32>) -> tensor<16x20xi32>
  %2 = linalg.matmul ins(%x, %w : tensor<16x32xi8>, tensor<32x20xi8>) outs(%1 : tensor<16x20xi32>) -> tensor<16x20xi32>
  %3 = tensor.empty() : tensor<16x20xi8>
  %4 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%2, %bias, %multiplier : tensor<16x20xi32>, tensor<20xi32>, tensor<20xi32>) outs(%3 : tensor<16x20xi8>) {
  ^bb0(%a: i32, %b: i32, %m: i32, %unused: i8):
    %sum = arith.addi %a, %b : i32
    %wide = arith.extsi %sum : i32 to i64
    %m64 = arith.extsi %m : i32 to i64
    %product = arith.muli %wide, %m64 : i64
    %rounded = arith.addi %product, %half : i64
    %scaled = arith.shrsi %rounded, %places : i64
    %moved = arith.addi %scaled, %point : i64
    %above = arith.maxsi %moved, %low : i64
    %below = arith.minsi %above, %high : i64
    %narrow = arith.trunci %below : i64 to i8
    linalg.yield %narrow : i8
  } -> tensor<16x20xi8>
  return %4 : tensor<16x20xi8>
}
