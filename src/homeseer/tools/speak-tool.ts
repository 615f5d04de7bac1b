/** Speak tool: HomeSeer says a phrase aloud on its speakers. */
import { omitUndefined } from '../../core/json.ts'
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { fail, ok } from '../../core/result.ts'
import { createSpeakRequest } from '../wire/json-requests.ts'
import { createHomeseerOutcome } from './homeseer-envelope.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHomeseerWriteFault } from './faults.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS, defineHomeseerChange, createTolerantInputSchema } from './homeseer-change.ts'
import { truncateText } from './json-text.ts'
import { mightTriggerVoiceAssistant } from './spoken-phrase-command-detection.ts'

export function createSpeakTool(homeseer: HomeseerToolContext): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.speak',
    title: 'Say something aloud',
    description:
      'Says a phrase aloud on HomeSeer’s speakers, on all of them or on those that `host` names. A phrase that a voice assistant may take for a command needs a person’s approval.',
    input: createTolerantInputSchema({
      phrase: z.string().min(1).max(500).describe('What is said.'),
      host: z.string().max(200).exactOptional().describe('Speakers as HomeSeer names them, HOST:NAME; absent: all.'),
      ...BASE_GUARD_ARGUMENT_SCHEMAS,
    }),
    effect: 'writes',
    lock: 'homeseer:speak',
    plan: async ({ phrase, host }) => ok({ phrase, host }),
    assess: ({ phrase, host }) => ({
      effect: mightTriggerVoiceAssistant(phrase) ? 'sensitive' : 'writes',
      target: 'homeseer:speak',
      label: `Say ${JSON.stringify(truncateText(phrase, 60))}`,
      touched: {},
      preview: { phrase, ...omitUndefined({ host }) },
    }),
    act: async ({ phrase, host }, _input, call) => {
      const spoken = await homeseer.link.json.call(createSpeakRequest(phrase, host), call.signal)
      if (!spoken.ok) return fail(createHomeseerWriteFault(spoken.fault, 'speaking'))
      return createHomeseerOutcome({ invoked: true, phrase, ...omitUndefined({ host }), raw: 'ok' })
    },
  })
}
