// tensor.pad with zeros.
//
// aiepipe-test
// run: no
// fills: fill_buffer 1
// fate: bytes [0, 256) of result 0 at each call
func.func @main(%a: tensor<6x6xi32>) -> tensor<8x8xi32> {
  %z = arith.constant 0 : i32
  %r = tensor.pad %a low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : i32
  } : tensor<6x6xi32> to tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
