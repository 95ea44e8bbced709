// 16x32xi32: 0 + A @ B^T, with A 16x64xi8 and B 32x64xi8.
// IREE makes one dispatch; the fill is fused into it, so its HAL IR has no fill.
//
// aiepipe-test
// input: 16x64xi8=1
// input: 32x64xi8=2
// output: 16x32xi32=128
// fills: none
func.func @matmul(%arg0: tensor<16x64xi8>, %arg1: tensor<32x64xi8>) -> tensor<16x32xi32> {
  %c0_i32 = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<16x32xi32>
  %1 = linalg.fill ins(%c0_i32 : i32) outs(%0 : tensor<16x32xi32>) -> tensor<16x32xi32>
  %2 = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%arg0, %arg1 : tensor<16x64xi8>, tensor<32x64xi8>) outs(%1 : tensor<16x32xi32>) -> tensor<16x32xi32>
  return %2 : tensor<16x32xi32>
}
