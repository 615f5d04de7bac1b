/**
 * Input tools: what the suite calls to see a handler ask back. Each is written once; in the 2025 family the SDK asks
 * on its behalf.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../src/bus/call.ts'
import type { Capability } from '../../src/bus/capability.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { isJsonObject } from '../../src/core/json.ts'
import { acceptedForm, answerTo, askFor, elicitation, fixture, sampling, spoken, text } from './fixture.ts'

const NAME = { name: { type: 'string' } }
const askName = elicitation('What is your name?', NAME, ['name'])
const listRoots = { method: 'roots/list', params: {} }
const confirm = elicitation('Please confirm', { ok: { type: 'boolean' } }, ['ok'])

const OPTIONS = ['option1', 'option2', 'option3']
const choices = (word: string) =>
  ['First', 'Second', 'Third'].map((which, index) => ({ const: `value${index + 1}`, title: `${which} ${word}` }))

const defaults = elicitation('Please review the defaults', {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
})

const enums = elicitation('Please choose', {
  untitledSingle: { type: 'string', enum: OPTIONS },
  titledSingle: { type: 'string', oneOf: choices('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
  titledMulti: { type: 'array', items: { anyOf: choices('Choice') } },
})

/** Asks once, and tells what came back. */
function asking(request: JsonObject, tell: (answer: JsonObject) => string): (call: Call) => Outcome {
  return (call) => {
    const answer = answerTo(call, 'asked')
    return answer === undefined ? askFor({ asked: request }) : text(tell(answer))
  }
}

function completed({ action, content }: JsonObject): string {
  return `Elicitation completed: action=${spoken(action)}, content=${spoken(content ?? {})}`
}

function sampled(answer: JsonObject | undefined): string {
  const content = answer?.['content']
  return isJsonObject(content) ? spoken(content['text']) : ''
}

const pushed: readonly Capability[] = [
  fixture(
    'test_sampling',
    (call) => asking(sampling(spoken(call.body['prompt'])), (answer) => `LLM response: ${sampled(answer)}`)(call),
    { input: z.strictObject({ prompt: z.string() }) },
  ),
  fixture(
    'test_elicitation',
    (call) => {
      const fields = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }
      const request = elicitation(spoken(call.body['message']), fields, ['username', 'email'])
      return asking(
        request,
        ({ action, content }) => `User response: action: ${spoken(action)}, content: ${spoken(content ?? {})}`,
      )(call)
    },
    { input: z.strictObject({ message: z.string() }) },
  ),
  fixture('test_elicitation_sep1034_defaults', asking(defaults, completed)),
  fixture('test_elicitation_sep1330_enums', asking(enums, completed)),
  fixture('test_streaming_elicitation', asking(confirm, completed)),
  fixture('test_missing_capability', asking(sampling('Are you there?'), sampled)),
]

const rounds: readonly Capability[] = [
  fixture('test_input_required_result_elicitation', (call) => {
    const name = acceptedForm(call, 'user_name')?.['name']
    return typeof name === 'string' ? text(`Hello, ${name}!`) : askFor({ user_name: askName })
  }),
  fixture('test_input_required_result_sampling', (call) => {
    const answer = answerTo(call, 'capital_question')
    if (answer === undefined) return askFor({ capital_question: sampling('What is the capital of France?') })
    return text(sampled(answer))
  }),
  fixture('test_input_required_result_list_roots', (call) => {
    const answer = answerTo(call, 'client_roots')
    return answer === undefined ? askFor({ client_roots: listRoots }) : text(`Roots: ${spoken(answer['roots'])}`)
  }),
  fixture('test_input_required_result_request_state', (call) => confirmed(call, 'state-ok')),
  fixture('test_input_required_result_tampered_state', (call) => confirmed(call, 'untouched')),
  fixture('test_input_required_result_multiple_inputs', (call) => {
    const requests = { user_name: askName, greeting: sampling('Generate a greeting', 50), client_roots: listRoots }
    const complete = Object.keys(requests).every((key) => answerTo(call, key) !== undefined)
    return complete && call.interaction?.requestState === 'all' ? text('All inputs received') : askFor(requests, 'all')
  }),
  fixture('test_input_required_result_multi_round', multiRound),
  fixture('test_input_required_result_capabilities', ({ interaction }) => {
    const { elicitation: forms, sampling: models } = interaction?.clientCapabilities ?? {}
    const requests = {
      ...(forms === undefined ? {} : { user_name: askName }),
      ...(models === undefined ? {} : { greeting: sampling('Generate a greeting') }),
    }
    return Object.keys(requests).length === 0 ? text('Nothing can be asked') : askFor(requests)
  }),
]

function confirmed(call: Call, word: string): Outcome {
  const accepted = acceptedForm(call, 'confirm') !== undefined && call.interaction?.requestState === word
  return accepted ? text(`Confirmed: ${word}`) : askFor({ confirm }, word)
}

/** What was answered in the first round travels to the third in the state. */
function multiRound(call: Call): Outcome {
  const state = call.interaction?.requestState
  const name = acceptedForm(call, 'step1')?.['name']
  if (state === 'step1' && typeof name === 'string') {
    const step2 = elicitation('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color'])
    return askFor({ step2 }, `step2 ${name}`)
  }
  const color = acceptedForm(call, 'step2')?.['color']
  if (state?.startsWith('step2 ') === true && typeof color === 'string')
    return text(`${state.slice('step2 '.length)} likes ${color}`)
  return askFor({ step1: elicitation('Step 1: What is your name?', NAME, ['name']) }, 'step1')
}

export const inputTools: readonly Capability[] = [...pushed, ...rounds]
