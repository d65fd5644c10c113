// Package stage runs inside the sandbox, as the process between Divisi and one command. Divisi starts its own program again under
// the name Marker; that process builds what the command may see, gives up every right, starts the command, and stays to collect
// what the command leaves behind and to end it all. With namespaces it is process 1 of the command's world.
//
// It takes over in its init function, which in every program that links this package, test programs too, runs before main and
// before most other packages are made ready: a program that confines commands needs no second program beside it and no line
// in its main, and neither can be forgotten. It imports little, because the Go runtime makes packages ready in the order of
// what they import, and a command should not wait for a whole server to be.
package stage
