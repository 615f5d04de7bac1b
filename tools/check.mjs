/**
 * Check: everything that a commit has to pass, in two lanes beside each other. What one lane leaves of two processors
 * while it waits, starts or ends, the other one uses.
 *
 * The output of each step is printed whole, in the order of the list. All steps run, also after one that failed.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const LANES = [['format:check', 'lint', 'types', 'unused'], ['test:modules']]

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const steps = LANES.flat().map((name) => ({ name, output: [], isDone: false }))
const failed = []
let printed = 0

/** The first step that has not ended prints as it goes; those behind it wait for their turn. */
function print() {
  for (; printed < steps.length; printed++) {
    const step = steps[printed]
    for (const chunk of step.output.splice(0)) process.stdout.write(chunk)
    if (!step.isDone) return
  }
}

function run(name) {
  const step = steps.find((one) => one.name === name)
  const note = (chunk) => {
    step.output.push(chunk)
    print()
  }
  const beganMs = performance.now()
  return new Promise((resolve) => {
    // npm has put the commands of node_modules/.bin in reach.
    const child = spawn(scripts[name], { cwd: root, shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.on('data', note)
    child.stderr.on('data', note)
    child.on('close', (code) => {
      if (code !== 0) failed.push(name)
      step.isDone = true
      const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1)
      note(`${code === 0 ? 'passed' : 'FAILED'}: ${name} (${seconds} s)\n`)
      resolve()
    })
  })
}

await Promise.all(
  LANES.map(async (lane) => {
    for (const name of lane) await run(name)
  }),
)
if (failed.length > 0) {
  process.stdout.write(`check failed: ${failed.join(', ')}\n`)
  process.exitCode = 1
}
