// Package demo holds the demonstration tools: create_payment, cancel_payment, get_payment, send_email, create_application
// and create_ticket, as a Go program would declare them. They speak the plain dialect of the fake provider.
//
// It promises that a tool laid over by a story or a configuration differs in nothing but the knobs that were named. It starts
// no provider and opens no journal; it imports toolbox, its HTTP adapter, and what the facts of a tool are made of.
package demo
