/**
 * Bundle: joins the code of entry files, and of the packages that are loaded at every start, in a few dozen files
 * instead of hundreds. Finding and opening files is most of a start.
 *
 * Other packages stay outside, at the versions that package.json pins. Files find their neighbours by `../../`, so the
 * chunks have to be as deep below the root as `src/<module>/` is: `outDir` is a folder of the root.
 */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Loaded at every start, from two hundred files of their own. */
export const JOINED_PACKAGES = [
  '@hono/node-server',
  '@modelcontextprotocol/core',
  '@modelcontextprotocol/server',
  'commander',
  'hono',
  'yaml',
  'zod',
]

/** `input`: the name of each made file with the path of its source. */
export async function bundle({ input, outDir, sourcemap }) {
  const sources = Object.entries(input).map(([name, path]) => [name, join(root, path)])
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: JOINED_PACKAGES },
    build: {
      ssr: true,
      target: 'node24',
      outDir,
      emptyOutDir: true,
      sourcemap,
      rolldownOptions: {
        input: Object.fromEntries(sources),
        output: { chunkFileNames: 'modules/[name]-[hash].js' },
      },
    },
  })
}
