import { z } from 'zod'
// Where the package is installed, this is `from 'hearthbus'`.
import { defineService, defineTool, ok } from '../src/hearthbus.ts'

const rain = defineTool({
  name: 'weather.rain.get',
  title: 'Rain today',
  description: 'Says how many millimetres of rain fell today. Changes nothing.',
  input: z.strictObject({}),
  output: z.strictObject({ millimetres: z.number() }),
  effect: 'reads',
}).handledBy(async () => ok({ data: { millimetres: 3 } }))

export const weatherService = defineService({ name: 'weather', capabilities: [rain] })
