/** Built processes: what a bench starts in a process of its own is the built command, like in flow tests. */

/** Builds nothing when the sources are those of the last time. */
export async function buildProcesses(): Promise<void> {
  const path = '../tools/build-test-processes.mjs'
  const { default: buildTestProcesses } = (await import(path)) as { readonly default: () => Promise<void> }
  await buildTestProcesses()
}
