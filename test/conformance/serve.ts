/** Serves the conformance fixtures until stopped, for running the suite by hand: `node test/conformance/serve.ts`. */
import { conformanceHouse } from './conformance-house.ts'

const house = await conformanceHouse()
process.stdout.write(`${house.url}\n`)
process.once('SIGINT', () => void house.close())
