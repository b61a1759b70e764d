// Package vitals watches the process that offers the load: its processor time, how
// long its goroutines wait for a processor, garbage collections, open files and local
// ports, once a second and beside the load.
//
// It judges nothing, and says nothing of what the system does not tell.
package vitals
