// Package example shows, in its tests, how to add things to pleat, one file each: a lever, a
// policy, a wire, a store and a tool for the agent, and a loop that has all parts of one. They use
// nothing that another program could not use. Package adopt beside it puts pleat into other
// people's frameworks.
package example
