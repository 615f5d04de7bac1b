/** What two thousand devices cost, see devices.ts. */
import { run } from './devices.ts'

await run()
