use super::size::LEAST;
use super::*;

#[test]
fn sizes_have_numbers_one_after_the_other() {
    for index in 0..SIZES {
        assert_eq!(Size::at(index).index(), index);
    }
    assert_eq!(Size::at(0).bytes, 1 << LEAST);
    assert_eq!(Size::at(SIZES).bytes, 1 << LARGEST);
}

#[test]
fn a_block_has_room_for_its_layout_and_not_much_more() {
    // Miri takes its time.
    let sizes = (4096..300_000).step_by(if cfg!(miri) { 997 } else { 1 });
    let sizes = sizes.chain((12..40).flat_map(|power| {
        let power = 1_usize << power;
        [power - 1, power, power + 1]
    }));
    for size in sizes {
        let layout = Layout::from_size_align(size, 1).unwrap();
        if let Some(block) = Size::of(layout) {
            let more = if block.is_large() { size } else { size / 4 };
            assert!((size..=size + more).contains(&block.bytes), "{size}");
            assert_eq!(block.is_large(), size > pages::LARGE / 8 * 7, "{size}");
        }
    }
}

#[test]
fn a_block_that_is_free_goes_out_next() {
    let memory = Memory::new();
    let layout = Layout::from_size_align(3 << 20, 8).unwrap();
    // SAFETY: the size is not zero, and each block is freed once.
    unsafe {
        let first = memory.alloc(layout);
        first.write(7);
        memory.dealloc(first, layout);
        let again = memory.alloc_zeroed(layout);
        assert_eq!((again, again.read()), (first, 0));
        memory.dealloc(again, layout);
    }
    memory.clear();
    assert_eq!(memory.with_free(|free| free.bytes), Some(0));
}

#[test]
fn no_more_is_kept_than_that() {
    let memory = Memory::new();
    let layout = Layout::from_size_align(5 << 20, 8).unwrap();
    // SAFETY: the size is not zero, and each block is freed once.
    unsafe {
        let blocks: Vec<*mut u8> = (0..30).map(|_| memory.alloc(layout)).collect();
        for block in blocks {
            memory.dealloc(block, layout);
            let kept = memory.with_free(|free| free.bytes).unwrap();
            assert!((1..=MOST_KEPT).contains(&kept));
        }
    }
    memory.clear();
}

#[test]
fn what_nobody_needed_for_a_period_goes_back() {
    let memory = Memory::new();
    let layout = Layout::from_size_align(1 << 20, 8).unwrap();
    let size = Size::of(layout).unwrap();
    let count = || memory.with_free(|free| free.count[size.index()]).unwrap();
    // Takes blocks, and frees them, until the next trim is over.
    let work = |blocks: usize| {
        let mut freed = 0;
        while freed < PERIOD {
            // SAFETY: the size is not zero, and each block is freed once.
            unsafe {
                let taken: Vec<*mut u8> = (0..blocks).map(|_| memory.alloc(layout)).collect();
                for block in taken {
                    memory.dealloc(block, layout);
                    freed += size.bytes;
                }
            }
        }
    };
    work(20);
    assert_eq!(count(), 20);
    // Three at a time are enough from here on; the first trim may see some of the twenty in use.
    work(3);
    work(3);
    assert_eq!(count(), 3);
    work(3);
    assert_eq!(count(), 3);
    memory.clear();
    assert_eq!(memory.with_free(|free| free.bytes), Some(0));
}

#[test]
fn without_the_list_of_free_blocks_it_does_as_well() {
    let memory = Memory::new();
    memory.is_busy.store(true, Ordering::Release);
    for size in [5000, 3 << 20] {
        let layout = Layout::from_size_align(size, 8).unwrap();
        // SAFETY: the size is not zero, and the block is freed once.
        unsafe {
            let block = memory.alloc_zeroed(layout);
            assert!(!block.is_null() && block.add(size - 1).read() == 0);
            memory.dealloc(block, layout);
        }
    }
    memory.is_busy.store(false, Ordering::Release);
    assert_eq!(memory.with_free(|free| free.bytes), Some(0));
}

#[test]
fn what_grows_and_shrinks_keeps_what_is_in_it() {
    let memory = Memory::new();
    let sizes = [
        5000,
        9000,
        300_000,
        310_000,
        700_000,
        3 << 20,
        400_000,
        6000,
        100,
    ];
    let layout = |size| Layout::from_size_align(size, 8).unwrap();
    // SAFETY: the sizes are not zero, nothing is read or written after the least of two, and what is freed
    // is what came last.
    unsafe {
        let mut block = memory.alloc(layout(sizes[0]));
        block.write_bytes(7, sizes[0]);
        for pair in sizes.windows(2) {
            block = memory.realloc(block, layout(pair[0]), pair[1]);
            let kept = pair[0].min(pair[1]);
            assert_eq!((block.read(), block.add(kept - 1).read()), (7, 7));
            block.write_bytes(7, pair[1]);
        }
        memory.dealloc(block, layout(sizes[sizes.len() - 1]));
    }
    memory.clear();
}

#[test]
fn zeros_are_a_vector_like_any_other() {
    for size in [0, 1, 4096, 10_000] {
        let mut all = zeros(size).unwrap();
        assert!(all.len() == size && all.iter().all(|&byte| byte == 0));
        all.extend([1; 100]);
        all.shrink_to_fit();
        assert_eq!(
            all.iter().map(|&byte| usize::from(byte)).sum::<usize>(),
            100
        );
    }
    assert_eq!(zeros(usize::MAX), None);
}
