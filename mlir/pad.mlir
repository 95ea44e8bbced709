// Zeros on both sides of three numbers.
// The host fills the whole result, 32 bytes, with the i8 pattern 0 (narrowed from the i32) and copies over it.
//
// aiepipe-test
// input: 3xi32=1 2 3
// output: 8xi32=0 0 1 2 3 0 0 0
// fills: fill_buffer
func.func @main(%a: tensor<3xi32>) -> tensor<8xi32> {
  %zero = arith.constant 0 : i32
  %padded = tensor.pad %a low[2] high[3] {
    ^bb0(%i: index):
      tensor.yield %zero : i32
  } : tensor<3xi32> to tensor<8xi32>
  return %padded : tensor<8xi32>
}
