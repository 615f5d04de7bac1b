/** Who can write into a folder of skills exchanges folders for links while a scan runs, to have other files served. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listSkillAttachments, readSkillAttachment } from './skill-attachment-store.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-attachments-'))
  for (const folder of ['keys', 'skill', 'skill/tables']) mkdirSync(join(root, folder))
  writeFileSync(join(root, 'keys', 'node.key'), 'private')
  writeFileSync(join(root, 'skill', 'SKILL.md'), '---\nname: a\ndescription: a\n---\n')
  writeFileSync(join(root, 'skill', 'tables', 'node.key'), 'of the skill')
})
afterEach(() => rmSync(root, { recursive: true }))

const text = async (folder: string, path: string): Promise<string | undefined> => {
  const bytes = await readSkillAttachment(join(root, folder), path)
  return bytes && Buffer.from(bytes).toString()
}

describe('a skill whose folder is a link', () => {
  it('has the files of the folder behind it', async () => {
    symlinkSync(join(root, 'skill'), join(root, 'linked'))
    expect(await text('linked', 'tables/node.key')).toBe('of the skill')
    expect((await listSkillAttachments(join(root, 'linked'), new Map())).files).toMatchObject([
      { path: 'tables/node.key' },
    ])
  })

  it('has no files when the link leads to a folder that is no skill', async () => {
    symlinkSync(join(root, 'keys'), join(root, 'linked'))
    expect(await text('linked', 'node.key')).toBeUndefined()
    expect((await listSkillAttachments(join(root, 'linked'), new Map())).files).toEqual([])
  })
})

describe('a folder within a skill', () => {
  it('is not read any more when it was exchanged for a link', async () => {
    expect(await text('skill', 'tables/node.key')).toBe('of the skill')
    renameSync(join(root, 'skill', 'tables'), join(root, 'skill', 'moved'))
    symlinkSync(join(root, 'keys'), join(root, 'skill', 'tables'))
    expect(await text('skill', 'tables/node.key')).toBeUndefined()
  })
})
