// Package egress connects confined commands to the network: a proxy for HTTP and SOCKS5 inside Divisi. Its input are connections
// of commands, its output connections to the addresses that it resolved and checked. It never connects to an address of this
// machine, unless loopback is allowed, and never to the metadata services of clouds.
package egress
