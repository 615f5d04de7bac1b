/**
 * Speak tool: HomeSeer says a phrase aloud on its speakers.
 *
 * Reads and writes through the link.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { fail, ok } from '../../core/result.ts'
import { speak } from '../wire/request.ts'
import { answer, type Homeseer } from './dependencies.ts'
import { writeFault } from './faults.ts'
import { BASE_GUARD, GUARDED_OUTPUT, defineHomeseerChange } from './homeseer-change.ts'
import { cut } from './json-text.ts'
import { tolerantInput } from './tolerant-input.ts'

export function speakTool(homeseer: Homeseer): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.speak',
    title: 'Say something aloud',
    description: 'Says a phrase aloud on HomeSeer’s speakers, on all of them or on those that `host` names.',
    input: tolerantInput({
      phrase: z.string().min(1).max(500).describe('What is said.'),
      host: z.string().max(200).exactOptional().describe('Speakers as HomeSeer names them, HOST:NAME; absent: all.'),
      ...BASE_GUARD,
    }),
    output: GUARDED_OUTPUT,
    effect: 'writes',
    lock: 'homeseer:speak',
    plan: async ({ phrase, host }) => ok({ phrase, host }),
    assess: ({ phrase, host }) => ({
      effect: 'writes',
      target: 'homeseer:speak',
      label: `Say ${JSON.stringify(cut(phrase, 60))}`,
      touched: {},
      preview: { phrase, ...(host === undefined ? {} : { host }) },
    }),
    act: async ({ phrase, host }, _input, call) => {
      const said = await homeseer.link.json.call(speak(phrase, host), call.signal)
      if (!said.ok) return fail(writeFault(said.fault, 'speaking'))
      return answer({ invoked: true, phrase, ...(host === undefined ? {} : { host }), raw: 'ok' })
    },
  })
}
