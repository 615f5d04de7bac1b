/**
 * What two thousand devices cost, see devices.ts.
 *
 * Does I/O.
 */
import { run } from './devices.ts'

await run()
