// Three sevens, six nines and the argument, one byte each: the second fill begins at byte 3.
// The host fills [0, 3) and [3, 9) at each call and copies one byte to 9; there is no dispatch.
//
// aiepipe-test
// input: 1xi8=4
// output: 10xi8=7 7 7 9 9 9 9 9 9 4
// fills: fill_buffer 2
func.func @main(%a: tensor<1xi8>) -> tensor<10xi8> {
  %seven = arith.constant 7 : i8
  %nine = arith.constant 9 : i8
  %empty3 = tensor.empty() : tensor<3xi8>
  %empty6 = tensor.empty() : tensor<6xi8>
  %sevens = linalg.fill ins(%seven : i8) outs(%empty3 : tensor<3xi8>) -> tensor<3xi8>
  %nines = linalg.fill ins(%nine : i8) outs(%empty6 : tensor<6xi8>) -> tensor<6xi8>
  %all = tensor.concat dim(0) %sevens, %nines, %a : (tensor<3xi8>, tensor<6xi8>, tensor<1xi8>) -> tensor<10xi8>
  return %all : tensor<10xi8>
}
