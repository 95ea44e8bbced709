// A lit test of one's own compiler may ask aiepipe, too. lit runs the RUN lines; %s is this file.
//
// RUN: aiepipe inspect %s | filecheck %s
// CHECK: no fill in the HAL IR
// CHECK: fills of the source
// CHECK: linalg.fill  7 : i32  accumulator of linalg.matmul  in dispatch [[DISPATCH:matmul_[a-z0-9_]+]]
// CHECK: 1 dispatch
// CHECK-NEXT: [[DISPATCH]]
//
// RUN: aiepipe inspect %s --fail-on fill --json | filecheck %s --check-prefix=JSON
// JSON: "schema": "aiepipe.report/1"
// JSON: "fates"
// JSON: "value": "7"
func.func @matmul(%a: tensor<8x4xi32>, %b: tensor<4x8xi32>) -> tensor<8x8xi32> {
  %seven = arith.constant 7 : i32
  %empty = tensor.empty() : tensor<8x8xi32>
  %fill = linalg.fill ins(%seven : i32) outs(%empty : tensor<8x8xi32>) -> tensor<8x8xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<8x4xi32>, tensor<4x8xi32>) outs(%fill : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %0 : tensor<8x8xi32>
}
