// Package egress is the only way of a confined command to the network: a proxy for HTTP and SOCKS5 inside Divisi. It resolves
// names itself, refuses the addresses of this machine, and connects to the address that it checked.
package egress
