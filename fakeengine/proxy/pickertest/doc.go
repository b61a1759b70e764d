// Package pickertest is a small endpoint picker for tests: a server of Envoy's external
// processing, with Envoy's own types, that behaves as the pickers of the field do, or as a
// test says. It is no part of the program, and picks by no rule worth using.
package pickertest
