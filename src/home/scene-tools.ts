/**
 * Scene tools: HomeSeer's events as scenes: list them, show what each would do as far as that is known, and run one.
 *
 * Reads and writes through the family's own tools.
 */
import { z } from 'zod'
import type { Capability } from '../bus/capability.ts'
import { defineChange, defineTool } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import { omitUndefined, type Json, type JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { previewCallAsAnswer } from './call-preview.ts'
import {
  DELEGATING_HOME_TOOL_DEFAULTS,
  HOME_TOOL_DEFINITION_DEFAULTS,
  previewArgument,
  createSentenceAnswer,
  reasonForChangeArgument,
} from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { splitMeaningfulWords } from './home-words.ts'
import { normaliseText } from './normalised-text.ts'
import { readNumberAt, readObjectsAt, readTextAt } from './json-path.ts'
import { quoteForSentence, formatCount, formatList } from './sentence-text.ts'
import { readHomeSnapshot } from './home-snapshot.ts'
import { addHomeseerGuardArguments } from './change-call-and-read-back.ts'

interface Scene {
  readonly id: number
  readonly name: string
  readonly group: string
}

const LIST = 'hs4.events.list'
const MAX_SHOWN = 20
const MAX_STEPS = 8
const PAGE = 200
const MAX_PAGES = 25

const homeScenes = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  name: 'home_scenes',
  title: 'Scenes',
  description: 'Scenes (HomeSeer events) by name; one that fits alone is shown with what it does.',
  input: z.strictObject({ text: z.string().max(120).exactOptional() }),
  effect: 'reads',
})

export function createSceneTools(parts: HomeDependencies): readonly Capability[] {
  return [
    homeScenes.handledBy(async ({ text }, context) => {
      const scenes = await scenesOf(parts, context)
      if (!scenes.ok) return scenes
      const found = text === undefined ? scenes.value : matching(text, scenes.value)
      if (found.length === 0)
        return createSentenceAnswer(
          text === undefined ? 'There are no scenes.' : `No scene is called ${quoteForSentence(text)}.`,
        )
      const [only] = found
      if (found.length === 1 && only !== undefined)
        return createSentenceAnswer(await describeScene(parts, only, context), { scenes: [sceneJson(only)] })
      const shown = found.slice(0, MAX_SHOWN)
      return createSentenceAnswer(
        `${formatCount(found.length, 'scene')}: ${formatList(shown.slice(0, 8).map(({ name }) => quoteForSentence(name)))}.`,
        {
          scenes: shown.map(sceneJson),
        },
      )
    }),
    defineChange({
      ...DELEGATING_HOME_TOOL_DEFAULTS,
      name: 'home_scene_run',
      title: 'Run a scene',
      description:
        'Runs one scene now, with everything it does. One that opens something, or cannot be read, waits for a person.',
      input: z.strictObject({
        scene: z.string().min(1).max(120).describe('Its handle or exact name.'),
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      act: async (_, { scene, ...wish }, context) => {
        const scenes = await scenesOf(parts, context)
        if (!scenes.ok) return scenes
        const byHandle = scenes.value.filter(({ id }) => scene === handleOf(id))
        const named =
          byHandle.length > 0
            ? byHandle
            : scenes.value.filter(({ name }) => normaliseText(name) === normaliseText(scene))
        const [only] = named
        if (named.length !== 1 || only === undefined) {
          const near = named.length > 1 ? named : matching(scene, scenes.value)
          if (near.length === 0)
            return createSentenceAnswer(`No scene is called ${quoteForSentence(scene)}. Nothing was done.`)
          return createSentenceAnswer(`It is not clear which scene ${quoteForSentence(scene)} is. Nothing was done.`, {
            ask: 'Which one?',
            scenes: near.slice(0, MAX_SHOWN).map(sceneJson),
          })
        }
        const call = addHomeseerGuardArguments({ tool: 'hs4.events.run', arguments: { id: only.id } }, wish)
        if (wish.preview) {
          const sentence = `${quoteForSentence(only.name)} would run. ${await describeScene(parts, only, context)}`
          return previewCallAsAnswer(parts, call, { context, sentence })
        }
        const outcome = await context.call(call.tool, call.arguments)
        if (!outcome.ok) return fail(outcome.fault)
        return createSentenceAnswer(`${quoteForSentence(only.name)} was run.`, { id: context.traceId })
      },
    }),
  ]
}

async function scenesOf(
  { bus }: HomeDependencies,
  context: HandlerContext,
): Promise<
  | { readonly ok: true; readonly value: readonly Scene[] }
  | Extract<Awaited<ReturnType<HandlerContext['call']>>, { ok: false }>
> {
  if (bus.offer(LIST) === undefined) return ok([])
  const scenes: Scene[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const outcome = await context.call(LIST, { limit: PAGE, ...omitUndefined({ cursor }) })
    if (!outcome.ok) return outcome
    scenes.push(...readObjectsAt(outcome.value.data, 'items').flatMap(sceneOf))
    cursor = readTextAt(outcome.value.data, 'nextCursor')
    if (cursor === undefined) break
  }
  return ok(scenes)
}

function sceneOf(event: JsonObject): readonly Scene[] {
  const id = readNumberAt(event, 'id')
  return id === undefined
    ? []
    : [{ id, name: readTextAt(event, 'name') ?? '', group: readTextAt(event, 'group') ?? '' }]
}

function handleOf(id: number): string {
  return `scene:${id}`
}

function sceneJson({ id, name, group }: Scene): JsonObject {
  return {
    handle: handleOf(id),
    name: quoteForSentence(name),
    ...(group === '' ? {} : { group: quoteForSentence(group) }),
  }
}

function matching(text: string, scenes: readonly Scene[]): readonly Scene[] {
  const words = splitMeaningfulWords(text)
  return scenes.filter(({ name, group }) => {
    const own = new Set([...splitMeaningfulWords(name), ...splitMeaningfulWords(group)])
    return words.length > 0 && words.every((word) => own.has(word))
  })
}

async function describeScene(parts: HomeDependencies, { id, name }: Scene, context: HandlerContext): Promise<string> {
  const outcome = await context.call('hs4.events.definition.get', { id })
  const actions = outcome.ok ? actionsIn(outcome.value.data) : []
  if (actions.length === 0)
    return `What ${quoteForSentence(name)} does cannot be read, so a person is asked before it runs.`
  const { things } = await readHomeSnapshot(parts, context)
  const names = new Map(things.map((thing) => [thing.handle, thing.name]))
  const steps = actions.flatMap((action) => actionWords(action, names))
  const shown = steps.slice(0, MAX_STEPS)
  const more = steps.length > shown.length ? [`${steps.length - shown.length} more`] : []
  return `${quoteForSentence(name)} does ${formatCount(steps.length, 'thing')}: ${formatList([...shown, ...more])}.`
}

function actionsIn(definition: Json): readonly JsonObject[] {
  const blocks = [...readObjectsAt(definition, 'blocks'), ...readObjectsAt(definition, 'actionBlocks')]
  const nested = blocks.flatMap((block) => readObjectsAt(block, 'actions'))
  return nested.length > 0 ? nested : readObjectsAt(definition, 'actions')
}

/** One phrase for each thing that is controlled; other actions by their type. */
function actionWords(action: JsonObject, names: ReadonlyMap<string, string>): readonly string[] {
  const actions = readObjectsAt(action, 'deviceActions')
  if (actions.length === 0) return [quoteForSentence(readTextAt(action, 'type') ?? 'something unknown')]
  return actions.map((each) => {
    const ref = readNumberAt(each, 'dvRef')
    const name = names.get(`hs:${ref}`) ?? readTextAt(each, 'deviceKey') ?? `device ${ref}`
    const to = readTextAt(each, 'controlLabel') ?? readNumberAt(each, 'controlValue')
    return `${quoteForSentence(name)}${to === undefined ? '' : ` to ${quoteForSentence(String(to))}`}`
  })
}
