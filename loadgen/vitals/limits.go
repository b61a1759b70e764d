package vitals

// Limits are those of connections; a negative one is not known.
type Limits struct {
	// Files may be open, and Open are.
	Files, Open int64
	// Ports can be given to connections to one address of a server, and Sockets are in
	// use in this network, whatever their other end.
	Ports, Sockets int64
}

// ReadLimits asks the system.
func ReadLimits() Limits {
	return Limits{Files: fileLimit(), Open: openFiles(), Ports: portRange(), Sockets: tcpSockets()}
}
