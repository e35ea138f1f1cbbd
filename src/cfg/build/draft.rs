//! Blocks under construction, numbered as they are asked for; the finished graph numbers them in
//! source order and drops those that nothing needed.

use crate::cfg::{Block, BlockId, Cfg, Instr, Point, Terminator};

#[derive(Default)]
struct Draft {
    instrs: Vec<Instr>,
    terminator: Option<Terminator>,
    is_target: bool,
    is_started: bool,
}

/// Blocks under construction, of which at most one is open: the one that gets instructions.
#[derive(Default)]
pub(super) struct Drafts {
    blocks: Vec<Draft>,
    /// Started blocks in the order of the source.
    order: Vec<BlockId>,
    current: Option<BlockId>,
}

/// From numbers of drafts to those of finished blocks.
pub(super) struct Numbers(Vec<BlockId>);

impl Numbers {
    pub(super) fn of(&self, draft: BlockId) -> BlockId {
        self.0[draft.index()]
    }
}

impl Drafts {
    /// A block to jump to, whose place in the source comes later.
    pub(super) fn reserve(&mut self) -> BlockId {
        self.blocks.push(Draft::default());
        BlockId::new(self.blocks.len() - 1)
    }

    /// Opens `block`; the open one goes on into it.
    pub(super) fn start(&mut self, block: BlockId) {
        self.goto(block);
        if !std::mem::replace(&mut self.blocks[block.index()].is_started, true) {
            self.order.push(block);
            self.current = Some(block);
        }
    }

    pub(super) fn start_new(&mut self) -> BlockId {
        let block = self.reserve();
        self.start(block);
        block
    }

    /// Opens `block` if something jumps to it. Otherwise flow goes on as it was: the statement
    /// that reserved the block is left in one way only, or not at all.
    pub(super) fn land(&mut self, block: BlockId) {
        if self.blocks[block.index()].is_target {
            self.start(block);
        }
    }

    /// Whether flow gets here.
    pub(super) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// The point where the next instruction will be; behind a jump that of a block which nothing
    /// leads to.
    pub(super) fn here(&mut self) -> Point {
        let block = match self.current {
            Some(block) => block,
            None => self.start_new(),
        };
        Point {
            block,
            index: self.blocks[block.index()].instrs.len(),
        }
    }

    /// The open block if it is still empty and may be jumped to.
    pub(super) fn fresh(&self) -> Option<BlockId> {
        let current = self.current?;
        let is_entry = self.order.first() == Some(&current);
        let is_empty = self.blocks[current.index()].instrs.is_empty();
        (is_empty && !is_entry).then_some(current)
    }

    pub(super) fn push(&mut self, instr: Instr) {
        let block = self.here().block;
        self.blocks[block.index()].instrs.push(instr);
    }

    /// Ends the open block.
    pub(super) fn end(&mut self, terminator: Terminator) {
        let block = self.suspend();
        self.resume(block, terminator);
    }

    /// Ends the open block if there is one.
    pub(super) fn goto(&mut self, target: BlockId) {
        if self.is_open() {
            self.end(Terminator::Goto(target));
        }
    }

    /// Closes the open block, whose end is given later by [`Drafts::resume`].
    pub(super) fn suspend(&mut self) -> BlockId {
        let block = self.here().block;
        self.current = None;
        block
    }

    pub(super) fn resume(&mut self, block: BlockId, terminator: Terminator) {
        for target in terminator.targets() {
            self.blocks[target.index()].is_target = true;
        }
        self.blocks[block.index()].terminator = Some(terminator);
    }

    /// Adds `instr` before the end of a block that is closed.
    pub(super) fn push_late(&mut self, block: BlockId, instr: Instr) {
        self.blocks[block.index()].instrs.push(instr);
    }

    pub(super) fn finish(mut self) -> (Vec<Block>, Numbers) {
        // Labels inside of what is not evaluated, `sizeof(({ l: 1; }))`, have no place.
        let lost = |draft: &Draft| draft.is_target && !draft.is_started;
        let lost = (0..self.blocks.len()).filter(|&index| lost(&self.blocks[index]));
        self.order.extend(lost.map(BlockId::new));

        let mut numbers = Numbers(vec![Cfg::ENTRY; self.blocks.len()]);
        for (index, draft) in self.order.iter().enumerate() {
            numbers.0[draft.index()] = BlockId::new(index);
        }
        let blocks = self.order.iter().map(|draft| {
            let draft = std::mem::take(&mut self.blocks[draft.index()]);
            let mut terminator = draft.terminator.unwrap_or(Terminator::Unreachable);
            terminator.map_targets(|target| numbers.of(target));
            let successors = terminator.targets();
            Block {
                instrs: draft.instrs,
                terminator,
                successors,
                predecessors: Vec::new(),
            }
        });
        (blocks.collect(), numbers)
    }
}
