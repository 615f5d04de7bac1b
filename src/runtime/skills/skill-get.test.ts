import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'

let root: string
let rig: Rig
const SKILL = '---\nname: bleed-radiators\ndescription: Let the air out\n---\nOpen the valve.\n'

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'hearthbus-skill-'))
  mkdirSync(join(root, 'bleed', 'tables'), { recursive: true })
  writeFileSync(join(root, 'bleed', 'SKILL.md'), SKILL)
  writeFileSync(join(root, 'bleed', 'tables', 'pressure.csv'), 'bar\n1.5\n')
  writeFileSync(join(root, 'bleed', 'picture.png'), Buffer.of(0x89, 0x50, 0xff, 0))
  writeFileSync(join(root, 'secret.txt'), 'The key is under the mat.')
  symlinkSync(join(root, 'secret.txt'), join(root, 'bleed', 'link.txt'))
  symlinkSync(root, join(root, 'bleed', 'up'))
  writeFileSync(join(root, 'bleed', 'large.bin'), Buffer.alloc(300_000))
  rig = await runtimeRig({ config: { skillRoots: [root] } })
})
afterEach(() => {
  rig.close()
  rmSync(root, { recursive: true })
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe('skill_get', () => {
  it('returns the instructions and lists the files beside them, without links and large files', async () => {
    expect(await rig.data('skill_get', { name: 'bleed-radiators', content_hash: sha256(SKILL) })).toMatchObject({
      name: 'bleed-radiators',
      body: 'Open the valve.\n',
      content_hash: sha256(SKILL),
      log_index: 0,
      files: [
        { path: 'picture.png', bytes: 4 },
        { path: 'tables/pressure.csv', sha256: sha256('bar\n1.5\n') },
      ],
      files_omitted: 3,
    })
    expect(await rig.data('skill_get', { name: 'bleed-radiators', file: 'tables/pressure.csv' })).toMatchObject({
      file: { path: 'tables/pressure.csv', text: 'bar\n1.5\n' },
    })
    expect(await rig.data('skill_get', { name: 'bleed-radiators', file: 'picture.png' })).toMatchObject({
      file: { base64: 'iVD/AA==' },
    })
  })

  it.each([
    '../secret.txt',
    'link.txt',
    'up/secret.txt',
    'tables/../../secret.txt',
    '/etc/passwd',
    'SKILL.md/../../secret.txt',
    'large.bin',
    'tables',
    '.',
  ])('finds no file under the path %s', async (file) => {
    const answer = await rig.answer('skill_get', { name: 'bleed-radiators', file })
    expect(answer).toMatchObject({
      isError: true,
      structured: { error: { code: 'HANDLER_ERROR', message: expect.stringMatching(/^ERR_SKILL_NOT_FOUND: /) } },
    })
    expect(JSON.stringify(answer)).not.toContain('mat.')
    expect(await rig.answer('skill://name/file', { name: 'bleed-radiators', file })).toMatchObject({ isError: true })
  })

  it.each([
    [
      'its instructions were edited',
      () => writeFileSync(join(root, 'bleed', 'SKILL.md'), SKILL.replace('Open', 'Shut')),
    ],
    ['a file beside it was edited', () => writeFileSync(join(root, 'bleed', 'tables', 'pressure.csv'), 'bar\n9.5\n')],
    ['a file was added', () => writeFileSync(join(root, 'bleed', 'new.txt'), 'x')],
    ['a file was removed', () => rmSync(join(root, 'bleed', 'picture.png'))],
    ['it was removed', () => rmSync(join(root, 'bleed', 'SKILL.md'))],
  ])('refuses when %s, until skill_list has recorded the change', async (_, change) => {
    change()
    for (const [name, args] of [
      ['skill_get', {}],
      ['skill_get', { file: 'tables/pressure.csv' }],
      ['skill://name', {}],
      ['skill://name/file', { file: 'tables/pressure.csv' }],
    ] as const)
      expect(await rig.error(name, { name: 'bleed-radiators', ...args })).toMatchObject({
        code: 'HANDLER_ERROR',
        message: expect.stringMatching(/^ERR_SKILL_CHANGED: /),
      })
    const recorded = rig.entries('skill.change').length
    await rig.data('skill_list')
    expect(rig.entries('skill.change')).toHaveLength(recorded + 1)
  })

  it('refuses a content hash that does not match, and unknown skill names', async () => {
    expect(await rig.error('skill_get', { name: 'bleed-radiators', content_hash: sha256('x') })).toMatchObject({
      message: expect.stringMatching(/^ERR_SKILL_CHANGED: /),
      details: { content_hash: sha256(SKILL) },
    })
    for (const name of ['nobody', '../bleed', '__proto__'])
      expect(await rig.error('skill_get', { name })).toMatchObject({
        message: expect.stringMatching(/^ERR_SKILL_NOT_FOUND: /),
      })
    expect(await rig.error('skill_get', { name: 'x', content_hash: 'abc' })).toMatchObject({ code: 'INVALID_PARAMS' })
  })
})
