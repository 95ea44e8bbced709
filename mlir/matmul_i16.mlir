// 63x65xi32: -1 + A @ B, with A 63x17xi16 and B 17x65xi16.
// IREE makes one dispatch; the fill is fused into it, so its HAL IR has no fill.
//
// aiepipe-test
// input: 63x17xi16=1
// input: 17x65xi16=2
// output: 63x65xi32=33
// fills: none
func.func @matmul(%arg0: tensor<63x17xi16>, %arg1: tensor<17x65xi16>) -> tensor<63x65xi32> {
  %c-1_i32 = arith.constant -1 : i32
  %0 = tensor.empty() : tensor<63x65xi32>
  %1 = linalg.fill ins(%c-1_i32 : i32) outs(%0 : tensor<63x65xi32>) -> tensor<63x65xi32>
  %2 = linalg.matmul ins(%arg0, %arg1 : tensor<63x17xi16>, tensor<17x65xi16>) outs(%1 : tensor<63x65xi32>) -> tensor<63x65xi32>
  return %2 : tensor<63x65xi32>
}
