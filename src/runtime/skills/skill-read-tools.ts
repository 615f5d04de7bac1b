/** Skill read tools: `skill_list`, `skill_get` and the resources of a skill; nothing writes. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { toBase64, fromUtf8 } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import { createRuntimeFault } from '../faults.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { createTextArgument } from '../text-arguments.ts'
import type { RecordedSkill, SkillRegistry } from './registry.ts'
import { readSkillAttachment } from './skill-attachment-store.ts'
import { DECLARABLE_SKILL_CAPABILITIES } from './skill-document.ts'

/** Longer than any description that it could be part of in practice. */
const MAX_SEARCH_LENGTH = 200
const MAX_PATH_LENGTH = 512
/** Bodies beyond this limit are left out, so that the answer fits a model. */
const MAX_BODY_CHARACTERS = 250_000

const skillList = defineRuntimeTool({
  name: 'skill_list',
  title: 'List skills',
  description:
    'Lists the skills (SKILL.md files) that the owner of this house has put in place: instructions for jobs that come up again. Look here before you work out a procedure yourself; `include_body` gives the instructions. Changes on disk show at once and are recorded in the ledger. Files that are no valid skill are in `skipped` with the reason.',
  input: z.strictObject({
    search: createTextArgument(MAX_SEARCH_LENGTH)
      .exactOptional()
      .describe('Part of the name or the description, in any case.'),
    capability: z.enum(DECLARABLE_SKILL_CAPABILITIES).exactOptional(),
    include_body: z.boolean().default(false),
  }),
  output: z.object({
    skills: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        version: z.string().nullable(),
        entrypoint: z.string().nullable(),
        capabilities: z.array(z.string()).describe('What the skill says it does; it grants nothing.'),
        greek_letter: z.string().nullable(),
        source_path: z.string(),
        content_hash: z.string().describe('SHA-256 of the file, hex.'),
        loaded_at: z.string(),
        log_index: z.int().describe('Ledger entry of its last change.'),
        frontmatter: z.record(z.string(), z.unknown()),
        body: z.string().exactOptional(),
      }),
    ),
    total: z.int().describe('Valid skills on disk, whatever the filters.'),
    skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
  }),
  // Changes that it finds are recorded, but for the caller it only reads.
  effect: 'reads',
})

const skillGet = defineRuntimeTool({
  name: 'skill_get',
  title: 'Read a skill',
  description:
    'Gives the instructions of one skill and the list of the files beside them; with `file`, the content of one of these. Refused with ERR_SKILL_CHANGED when the disk is not what the ledger recorded (skill_list records changes), or when `content_hash` is given and is not that of the skill: so you follow what you decided to follow.',
  input: z.strictObject({
    name: createTextArgument(MAX_SEARCH_LENGTH),
    content_hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'SHA-256 in hexadecimal')
      .exactOptional()
      .describe('From skill_list: refuse any other content.'),
    file: createTextArgument(MAX_PATH_LENGTH).exactOptional().describe('One of `files`, by its path.'),
  }),
  output: z.object({
    name: z.string(),
    description: z.string(),
    version: z.string().nullable(),
    content_hash: z.string(),
    files_hash: z.string().describe('SHA-256 over the canonical JSON of [[path, sha256], …].'),
    loaded_at: z.string(),
    log_index: z.int().describe('Ledger entry that recorded it.'),
    body: z.string().exactOptional(),
    files: z.array(z.object({ path: z.string(), bytes: z.int(), sha256: z.string() })).exactOptional(),
    files_omitted: z.int().exactOptional().describe('Links, and files that are too many, large or deep.'),
    file: z
      .object({
        path: z.string(),
        sha256: z.string(),
        text: z.string().exactOptional(),
        base64: z.string().exactOptional(),
      })
      .exactOptional(),
  }),
  effect: 'reads',
})

const skillResource = defineRuntimeTool({
  name: 'skill://name',
  title: 'A skill',
  description: 'The instructions of a skill, as the ledger recorded them.',
  face: { kind: 'resource', uri: 'skill://{name}', mimeType: 'text/markdown' },
  input: z.strictObject({ name: createTextArgument(MAX_SEARCH_LENGTH) }),
  output: z.string(),
  effect: 'reads',
})

const skillFileResource = defineRuntimeTool({
  name: 'skill://name/file',
  title: 'A file of a skill',
  description: 'A file that lies beside the instructions of a skill, as the ledger recorded it.',
  face: { kind: 'resource', uri: 'skill://{name}/{+file}', mimeType: 'application/octet-stream' },
  input: z.strictObject({ name: createTextArgument(MAX_SEARCH_LENGTH), file: createTextArgument(MAX_PATH_LENGTH) }),
  output: z.unknown(),
  effect: 'reads',
})

export function createSkillTools(registry: SkillRegistry): readonly Capability[] {
  return [
    skillList.handledBy(async ({ search, capability, include_body: includeBody }) => {
      const { skills, skipped } = await registry.refresh()
      // Names are lower case by their schema; descriptions are not.
      const wanted = search?.toLowerCase() ?? ''
      const matching = skills.filter(
        ({ name, description, capabilities }) =>
          (name.includes(wanted) || description.toLowerCase().includes(wanted)) &&
          (capability === undefined || capabilities.includes(capability)),
      )
      // The first body that does not fit ends the list of bodies, so that they are left out from the end.
      let room = includeBody ? MAX_BODY_CHARACTERS : 0
      const listed = matching.map(({ body, folder: _folder, files: _files, ...skill }) => {
        room -= body.length
        return room >= 0 && includeBody ? { ...skill, body } : skill
      })
      return createRuntimeOutcome({
        skills: listed,
        total: skills.length,
        skipped: skipped.map((file) => ({ ...file })),
      })
    }),

    skillGet.handledBy(async ({ name, content_hash: wanted, file: path }) => {
      const skill = await recordedSkill(registry, name, wanted)
      if (!skill.ok) return skill
      const { description, version, content_hash, loaded_at, log_index, body, files } = skill.value
      const summary = { name, description, version, content_hash, files_hash: files.filesHash, loaded_at, log_index }
      if (path === undefined)
        return createRuntimeOutcome({
          ...summary,
          body,
          files: files.files.map((file) => ({ ...file })),
          files_omitted: files.omitted,
        })
      const file = await recordedFile(skill.value, path)
      if (!file.ok) return file
      return createRuntimeOutcome({
        ...summary,
        file: { path, sha256: file.value.sha256, ...contentIn(file.value.bytes, 'base64') },
      })
    }),

    skillResource.handledBy(async ({ name }) => {
      const skill = await recordedSkill(registry, name)
      return skill.ok ? createRuntimeOutcome(skill.value.body) : skill
    }),

    skillFileResource.handledBy(async ({ name, file: path }) => {
      const skill = await recordedSkill(registry, name)
      if (!skill.ok) return skill
      const file = await recordedFile(skill.value, path)
      if (!file.ok) return file
      const content = contentIn(file.value.bytes, 'blob')
      const uri = `skill://${name}/${path.split('/').map(encodeURIComponent).join('/')}`
      const mimeType = 'text' in content ? 'text/plain' : 'application/octet-stream'
      return ok({ data: path, content: [{ type: 'resource', resource: { uri, mimeType, ...content } }] })
    }),
  ]
}

async function recordedSkill(
  registry: SkillRegistry,
  name: string,
  wanted?: string,
): Promise<Result<RecordedSkill, Fault>> {
  const skill = await registry.recorded(name)
  if (!skill.ok)
    return fail(
      skill.fault === 'unknown'
        ? createRuntimeFault('ERR_SKILL_NOT_FOUND', `There is no skill ${name}; skill_list lists them.`, { name })
        : skillChanged(name, 'is not on disk as the ledger recorded it; skill_list records what it is now'),
    )
  const { content_hash: current } = skill.value
  if (wanted === undefined || wanted === current) return skill
  return fail(skillChanged(name, 'has other content than the one that was asked for', { content_hash: current }))
}

/** Opens only files on the list, so that no path leads out of the folder, and only if they are unchanged since. */
async function recordedFile(
  { name, folder, files }: RecordedSkill,
  path: string,
): Promise<Result<{ readonly sha256: string; readonly bytes: Uint8Array }, Fault>> {
  const listed = files.files.find((file) => file.path === path)
  if (listed === undefined)
    return fail(
      createRuntimeFault('ERR_SKILL_NOT_FOUND', `Skill ${name} has no file of that path; skill_get lists them.`, {
        name,
      }),
    )
  const bytes = await readSkillAttachment(folder, path)
  if (bytes === undefined || hash('sha256', bytes) !== listed.sha256)
    return fail(skillChanged(name, 'was changed while it was read'))
  return ok({ sha256: listed.sha256, bytes })
}

function contentIn(bytes: Uint8Array, binary: 'base64' | 'blob'): { readonly [key: string]: string } {
  const read = fromUtf8(bytes)
  return read === undefined || read.includes('\0') ? { [binary]: toBase64(bytes) } : { text: read }
}

function skillChanged(name: string, what: string, details: JsonObject = {}): Fault {
  return createRuntimeFault('ERR_SKILL_CHANGED', `Skill ${name} ${what}.`, { name, ...details })
}
