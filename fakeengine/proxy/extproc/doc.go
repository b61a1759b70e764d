// Package extproc asks an endpoint picker, as Envoy's external processing filter does:
// the llm-d router, the endpoint picker of the Gateway API inference extension, or any
// other server of envoy.service.ext_proc.v3.ExternalProcessor. With it, a proxy can send
// requests where a picker says without Envoy and without a cluster.
//
// An Exchange is one HTTP request and its answer on one stream of gRPC, in the mode
// FULL_DUPLEX_STREAMED: headers, then the body in pieces; the picker answers with the
// endpoints in x-gateway-destination-endpoint, changed headers and the body that is to be
// sent, or with an answer of its own. Then come the headers and the body of the answer,
// which the picker sends back as the client is to have them. Pickers that answer each
// piece of a body with "unchanged", as those for the mode STREAMED do, are understood,
// too, and so is one that ends the stream in good order because it wants to see no more.
//
// The messages are read and written field by field: the generated types of Envoy would
// make every command start slower. It makes no connections to engines, and decides
// nothing that a picker left open.
package extproc
