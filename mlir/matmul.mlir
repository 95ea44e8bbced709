// 64x64xi32: 7 + A @ B, with A 64x16xi32 and B 16x64xi32.
// IREE makes one dispatch; the fill is fused into it, so its HAL IR has no fill.
//
// aiepipe-test
// input: 64x16xi32=1
// input: 16x64xi32=2
// output: 64x64xi32=39
// fills: none
func.func @matmul(%arg0: tensor<64x16xi32>, %arg1: tensor<16x64xi32>) -> tensor<64x64xi32> {
  %c7_i32 = arith.constant 7 : i32
  %0 = tensor.empty() : tensor<64x64xi32>
  %1 = linalg.fill ins(%c7_i32 : i32) outs(%0 : tensor<64x64xi32>) -> tensor<64x64xi32>
  %2 = linalg.matmul ins(%arg0, %arg1 : tensor<64x16xi32>, tensor<16x64xi32>) outs(%1 : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %2 : tensor<64x64xi32>
}
