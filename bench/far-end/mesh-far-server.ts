/**
 * The provider's process of the mesh bench: an echo, behind whichever wire it is told. Says how much processor time it
 * has had when it is asked.
 */
import { startFar } from '../mesh-ends.ts'
import type { Ends } from '../mesh-ends.ts'

const address = await startFar(JSON.parse(process.argv[2] ?? '') as Ends)
process.send?.(address)
process.on('message', (said) => {
  // By itself, so that a profile of it gets written.
  if (said === 'stop') process.exit()
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMicros: user + system })
})
