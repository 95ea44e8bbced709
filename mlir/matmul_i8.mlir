// 32x32xi32: 0 + A @ B, with A 32x64xi8 and B 64x32xi8.
// IREE makes one dispatch; the fill is fused into it, so its HAL IR has no fill.
//
// aiepipe-test
// input: 32x64xi8=1
// input: 64x32xi8=2
// output: 32x32xi32=128
// fills: none
func.func @matmul(%arg0: tensor<32x64xi8>, %arg1: tensor<64x32xi8>) -> tensor<32x32xi32> {
  %c0_i32 = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<32x32xi32>
  %1 = linalg.fill ins(%c0_i32 : i32) outs(%0 : tensor<32x32xi32>) -> tensor<32x32xi32>
  %2 = linalg.matmul ins(%arg0, %arg1 : tensor<32x64xi8>, tensor<64x32xi8>) outs(%1 : tensor<32x32xi32>) -> tensor<32x32xi32>
  return %2 : tensor<32x32xi32>
}
