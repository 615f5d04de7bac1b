/**
 * Tools: skill_list.
 *
 * Reads and writes through its registry.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { answer, RUNTIME_LOCK } from '../dependencies.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { text } from '../text.ts'
import type { SkillRegistry } from './registry.ts'
import { SKILL_CAPABILITIES } from './skill.ts'

/** Longer than any description that it could be part of in practice. */
const MAX_SEARCH_LENGTH = 200
/** Bodies beyond this are left out rather than flood a model. */
const MAX_BODY_CHARACTERS = 250_000

const skillList = defineRuntimeTool({
  name: 'skill_list',
  title: 'List skills',
  description:
    'Lists the skills (SKILL.md files) that the owner of this house has put in place: instructions for jobs that come up again. Look here before you work out a procedure yourself; `include_body` gives the instructions. Changes on disk show at once and are recorded in the ledger. Files that are no valid skill are in `skipped` with the reason.',
  input: z.strictObject({
    search: text(MAX_SEARCH_LENGTH).exactOptional().describe('Part of the name or the description, in any case.'),
    capability: z.enum(SKILL_CAPABILITIES).exactOptional(),
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
  // What it notices goes on record, as every call does; for the caller it is a look.
  effect: 'reads',
  lock: RUNTIME_LOCK,
})

export function skillTools(registry: SkillRegistry): readonly Capability[] {
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
      // The first that does not fit ends it, so that bodies are left out from the end and not here and there.
      let room = includeBody ? MAX_BODY_CHARACTERS : 0
      const listed = matching.map(({ body, ...skill }) => {
        room -= body.length
        return room >= 0 && includeBody ? { ...skill, body } : skill
      })
      return answer({ skills: listed, total: skills.length, skipped: skipped.map((file) => ({ ...file })) })
    }),
  ]
}
