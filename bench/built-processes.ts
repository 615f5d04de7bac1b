/**
 * Built processes: what a bench starts in a process of its own is the built command, like in flow tests. Importing this
 * builds it, unless the sources are those of the last time.
 *
 * Does I/O.
 */
const path = '../tools/build-test-processes.mjs'
const { default: buildTestProcesses } = (await import(path)) as { readonly default: () => Promise<void> }
await buildTestProcesses()
