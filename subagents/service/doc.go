// Package service runs what gates need beside them, such as a database: each service confined and without network, in the network
// namespace of one try of the gates, from a home of its own that begins as `prepare` left it. Its input are the services of a
// project and what their commands have in common, its output variables for the gates. Nothing of a try reaches the next one.
package service
