/** Resources and prompts of the official suite. */
import { z } from 'zod'
import type { Capability, McpExposure, PromptArgument } from '../../src/bus/capability.ts'
import type { Json } from '../../src/core/json.ts'
import { ok } from '../../src/core/result.ts'
import { acceptedForm, askFor, content, elicitation, fixture, PNG, spoken } from './fixture.ts'

const anyText = z.record(z.string(), z.string())

function resource(uri: string, mimeType: string): McpExposure {
  return { kind: 'resource', uri, mimeType }
}

export const resources: readonly Capability[] = [
  fixture('static_text', () => ok({ data: 'This is the content of the static text resource.' }), {
    face: resource('test://static-text', 'text/plain'),
  }),
  fixture(
    'static_binary',
    () => content({ type: 'resource', resource: { uri: 'test://static-binary', mimeType: 'image/png', blob: PNG } }),
    { face: resource('test://static-binary', 'image/png') },
  ),
  fixture('watched_resource', () => ok({ data: 'Watched resource content' }), {
    face: resource('test://watched-resource', 'text/plain'),
  }),
  fixture(
    'template_data',
    ({ body: { id = null } }) => ok({ data: { id, templateTest: true, data: `Data for ID: ${spoken(id)}` } }),
    { input: z.strictObject({ id: z.string() }), face: resource('test://template/{id}/data', 'application/json') },
  ),
]

function prompt(...args: readonly PromptArgument[]): McpExposure {
  return { kind: 'prompt', arguments: args }
}

function argument(name: string, description: string): PromptArgument {
  const known = [`${name}-one`, `${name}-two`]
  return { name, description, required: true, complete: (typed) => known.filter((value) => value.startsWith(typed)) }
}

function says(...contents: readonly Json[]) {
  return ok({ data: { messages: contents.map((each) => ({ role: 'user', content: each })) } })
}

const words = (text: string): Json => ({ type: 'text', text })

export const prompts: readonly Capability[] = [
  fixture('test_simple_prompt', () => says(words('This is a simple prompt for testing.')), { face: prompt() }),
  fixture(
    'test_prompt_with_arguments',
    ({ body }) => says(words(`Prompt with arguments: arg1='${spoken(body['arg1'])}', arg2='${spoken(body['arg2'])}'`)),
    {
      input: z.strictObject({ arg1: z.string(), arg2: z.string() }),
      face: prompt(argument('arg1', 'First test argument'), argument('arg2', 'Second test argument')),
    },
  ),
  fixture(
    'test_prompt_with_embedded_resource',
    ({ body: { resourceUri = '' } }) =>
      says(
        {
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
        words('Please process the embedded resource above.'),
      ),
    { input: z.strictObject({ resourceUri: z.string() }), face: prompt(argument('resourceUri', 'URI to embed')) },
  ),
  fixture(
    'test_prompt_with_image',
    () => says({ type: 'image', data: PNG, mimeType: 'image/png' }, words('Please analyze the image above.')),
    { face: prompt() },
  ),
  fixture(
    'test_input_required_result_prompt',
    (call) => {
      const context = acceptedForm(call, 'user_context')?.['context']
      if (typeof context === 'string') return says(words(`Context: ${context}`))
      const fields = { context: { type: 'string' } }
      return askFor({ user_context: elicitation('What context should the prompt use?', fields, ['context']) })
    },
    { input: anyText, face: prompt() },
  ),
]
